//! What is kept of a request so that it can be sent again.

use super::replay::ReplayBody;
use bytes::{Buf, BufMut, Bytes};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, request::Parts};

/// A request, ready to be sent again.
///
/// Most calls succeed at once and what was kept is thrown away, so keeping has to be cheap: a clone of a header map
/// costs an allocation for most of its names and values, this one for all of them.
pub(super) struct Kept<B> {
    method: Method,
    uri: Uri,
    version: Version,
    headers: Bytes,
    extensions: Extensions,
    body: ReplayBody<B>,
}

impl<B> Kept<B> {
    pub(super) fn new(head: &Parts, body: ReplayBody<B>) -> Self {
        Self {
            method: head.method.clone(),
            uri: head.uri.clone(),
            version: head.version,
            headers: pack(&head.headers),
            extensions: head.extensions.clone(),
            body,
        }
    }

    pub(super) fn body(&self) -> &ReplayBody<B> {
        &self.body
    }

    pub(super) fn request(&self) -> Request<ReplayBody<B>> {
        let mut request = Request::new(self.body.clone());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.version_mut() = self.version;
        *request.headers_mut() = unpack(self.headers.clone());
        *request.extensions_mut() = self.extensions.clone();
        request
    }
}

/// Of each header: the lengths of name and value, whether it is sensitive, both.
const FIXED: usize = 4 + 4 + 1;

fn pack(headers: &HeaderMap) -> Bytes {
    let len = |(name, value): (&HeaderName, &HeaderValue)| FIXED + name.as_str().len() + value.len();
    let mut packed = Vec::with_capacity(headers.iter().map(len).sum());
    for (name, value) in headers {
        let name = name.as_str().as_bytes();
        // `http` holds neither names nor values of 4 GiB.
        packed.put_u32(name.len() as u32);
        packed.put_u32(value.len() as u32);
        packed.put_u8(value.is_sensitive().into());
        packed.put_slice(name);
        packed.put_slice(value.as_bytes());
    }
    packed.into()
}

fn unpack(mut packed: Bytes) -> HeaderMap {
    let mut headers = HeaderMap::new();
    while packed.remaining() >= FIXED {
        let (name, value) = (packed.get_u32() as usize, packed.get_u32() as usize);
        let sensitive = packed.get_u8() != 0;
        let (name, value) = (packed.split_to(name), packed.split_to(value));
        // They were a name and a value before, so they are again.
        let (Ok(name), Ok(mut value)) =
            (HeaderName::from_bytes(&name), HeaderValue::from_maybe_shared(value))
        else {
            continue;
        };
        value.set_sensitive(sensitive);
        headers.append(name, value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn headers_come_back_as_they_were_kept(
            fields in prop::collection::vec(
                ("(content-type|[a-z][a-z0-9-]{0,20})", prop::collection::vec(0x20..=0xffu8, 0..40), any::<bool>()),
                0..20,
            ),
        ) {
            let mut headers = HeaderMap::new();
            for (name, value, sensitive) in fields {
                let Ok(mut value) = HeaderValue::from_bytes(&value) else { continue };
                value.set_sensitive(sensitive);
                headers.append(HeaderName::try_from(name).unwrap(), value);
            }
            let back = unpack(pack(&headers));
            prop_assert_eq!(&back, &headers);
            for name in headers.keys() {
                let flags = |map: &HeaderMap| map.get_all(name).iter().map(HeaderValue::is_sensitive).collect::<Vec<_>>();
                prop_assert_eq!(flags(&back), flags(&headers));
            }
        }
    }

    #[test]
    fn a_request_comes_back_whole() {
        let request = Request::put("https://example.com/a?b=c")
            .version(Version::HTTP_2)
            .header("x-one", "1")
            .header("x-one", "2")
            .extension("kept")
            .body(())
            .unwrap();
        let (head, ()) = request.into_parts();
        let body = ReplayBody::new(http_body_util::Full::new(Bytes::from("a question")), 0);
        let (back, _) = Kept::new(&head, body).request().into_parts();
        assert_eq!((back.method, back.uri, back.version), (head.method, head.uri, head.version));
        assert_eq!(back.headers, head.headers);
        assert_eq!(back.extensions.get::<&str>(), Some(&"kept"));
    }
}
