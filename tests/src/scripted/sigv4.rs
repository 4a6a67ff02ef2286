//! Whether a request is signed as AWS wants it (Signature Version 4): the signature is made anew from what arrived.

use super::must;
use mainstay_testkit::Recorded;
use sha2::{Digest, Sha256};

/// The id of the one key that there is.
pub(super) const KEY_ID: &str = "AKIDSCRIPTED";

/// Its secret.
pub(super) const SECRET: &str = "scripted/secret+0123456789";

/// What requests must be signed for.
pub(super) const REGION: &str = "eu-west-1";

/// Complains of a request that the real one would answer with 403.
pub(super) fn check(request: &Recorded) -> Result<(), String> {
    let authorization = request.header("authorization").ok_or("Missing Authentication Token")?;
    let fields = authorization.strip_prefix("AWS4-HMAC-SHA256 ").ok_or("another algorithm")?;
    let field = |name: &str| {
        let mut fields = fields.split(',').map(str::trim);
        let found = fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        found.ok_or(format!("Authorization header requires {name}"))
    };
    let (key, scope) = field("Credential")?.split_once('/').ok_or("a Credential without a scope")?;
    must(key == KEY_ID, "The security token included in the request is invalid")?;
    let time = request.header("x-amz-date").ok_or("x-amz-date is missing")?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (date, clock) = time.strip_suffix('Z').and_then(|time| time.split_once('T')).ok_or("no such time")?;
    must(date.len() == 8 && digits(date) && clock.len() == 6 && digits(clock), "no such time")?;
    must(scope == format!("{date}/{REGION}/bedrock/aws4_request"), "Credential should be scoped to another")?;
    let names: Vec<&str> = field("SignedHeaders")?.split(';').collect();
    must(names.is_sorted(), "SignedHeaders must be in order")?;
    must(names.contains(&"host") && names.contains(&"x-amz-date"), "host and x-amz-date must be signed")?;
    let unsigned =
        request.headers.iter().find(|(name, _)| name.starts_with("x-amz-") && !names.contains(&&**name));
    must(unsigned.is_none(), "There were headers present in the request which were not signed")?;
    let signed = canonical(request, &names)?;
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(signed)));
    let key =
        scope.split('/').fold(format!("AWS4{SECRET}").into_bytes(), |key, step| hmac(&key, step.as_bytes()));
    let ours = hex(&hmac(&key, text.as_bytes()));
    must(field("Signature")? == ours, "The request signature we calculated does not match")
}

/// The form in which it is signed.
fn canonical(request: &Recorded, names: &[&str]) -> Result<String, String> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    must(query.is_empty(), "there is nothing to ask here")?;
    let mut lines = String::new();
    for name in names {
        let value = request.header(name).ok_or_else(|| format!("{name} is signed and not there"))?;
        lines += &format!("{name}:{}\n", value.trim());
    }
    // What is sent encoded is encoded once more.
    let path = path.replace('%', "%25");
    let body = hex(&Sha256::digest(&request.body));
    let told = request.header("x-amz-content-sha256");
    must(told.is_none_or(|told| told == body), "x-amz-content-sha256 is another body's")?;
    Ok(format!("{}\n{path}\n\n{lines}\n{}\n{body}", request.method, names.join(";")))
}

/// RFC 2104, for keys of any length.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = if key.len() > 64 { Sha256::digest(key).to_vec() } else { key.to_vec() };
    block.resize(64, 0);
    let padded = |pad: u8| block.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use mainstay::sigv4::{Credentials, PayloadHash, Signer};

    /// A request that is signed for `region`, as it arrives.
    fn signed(region: &str) -> Recorded {
        let body = "{}";
        let request =
            http::Request::post("http://h/model/m%3A0/converse").header("content-type", "text/plain");
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        parts.extensions.insert(PayloadHash::of(body.as_bytes()));
        let credentials = Credentials::new(KEY_ID, SECRET, None).unwrap();
        Signer::new(credentials, region, "bedrock").sign(&mut parts).unwrap();
        let mut headers: Vec<(String, String)> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        headers.push(("host".into(), "h".into()));
        Recorded {
            number: 0,
            connection: 0,
            method: "POST".into(),
            path: parts.uri.path().into(),
            headers,
            body: body.into(),
            at: tokio::time::Instant::now(),
        }
    }

    #[test]
    fn only_what_was_signed_passes() {
        assert_eq!(check(&signed(REGION)), Ok(()));
        assert!(check(&signed("us-east-1")).is_err());
        let mut other = signed(REGION);
        other.body = "{ }".into();
        assert!(check(&other).unwrap_err().contains("does not match"));
        let mut other = signed(REGION);
        other.headers.retain(|(name, _)| name != "authorization");
        assert!(check(&other).is_err());
        let mut other = signed(REGION);
        other.headers.push(("x-amz-more".into(), "1".into()));
        assert!(check(&other).unwrap_err().contains("not signed"));
    }
}
