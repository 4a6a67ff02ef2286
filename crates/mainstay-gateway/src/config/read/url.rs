//! `base_url` and `proxy`

use http::Uri;
use mainstay::provider::{Kind, Native};

use super::super::doc::{Value, shown};
use super::super::secret::{Proxy, ProxyUrl};
use super::super::settings::BaseUrl;

const BASE: &str = "an address such as \"https://api.openai.com/v1\": http or https, a host, no query";

pub(super) fn base_url(v: &Value<'_>, kind: Option<Kind>) -> Option<BaseUrl> {
    let text = v.text(BASE)?;
    match parse_base(text) {
        Ok(base) => match without_endpoint(base.as_str(), kind) {
            None => Some(base),
            Some(instead) => v.refuse(
                format!("{}, which goes as far as an endpoint", shown(base.as_str())),
                format!("the part of it that all endpoints have: {}", shown(&instead)),
            ),
        },
        // Whoever writes a password into an address does not want to read it in a log.
        Err(Wrong::User) => v.refuse(
            "an address with a user or password in it",
            "the host alone: a key is set by api_key_env, api_key_file or headers",
        ),
        // Some providers take the key in the query.
        Err(Wrong::Query) => v.refuse("an address with a query or a fragment", BASE),
        Err(Wrong::Other(why)) => v.wrong(format!("{BASE} ({why})")),
    }
}

/// What APIs have at the end of addresses that people copy from examples.
const ENDPOINTS: [&str; 6] =
    ["/chat/completions", "/completions", "/responses", "/messages", "/messages/count_tokens", "/embeddings"];

/// What to write instead of an address that leads to one endpoint; `None` where it leads to none.
fn without_endpoint(url: &str, kind: Option<Kind>) -> Option<String> {
    let native = kind.map(|kind| kind.profile().native);
    // Not within the host: `https://embeddings` is a name of its own.
    let (scheme, rest) = url.split_once("://")?;
    let (host, path) = rest.split_at_checked(rest.find('/')?)?;
    let path = match native {
        Some(Native::Gemini) => match path.find("/models/") {
            Some(at) => path.get(..at)?,
            None => path.strip_suffix("/v1beta")?,
        },
        Some(Native::Ollama) => path.strip_suffix("/api/chat").or(path.strip_suffix("/api"))?,
        Some(Native::Cohere) => path.strip_suffix("/v2/chat").or(path.strip_suffix("/v2"))?,
        Some(Native::Converse) => path.get(..path.find("/model/")?)?,
        _ => ENDPOINTS.iter().find_map(|end| path.strip_suffix(end))?,
    };
    // Their SDKs write the host alone.
    let path = match native {
        Some(Native::Anthropic) => path.strip_suffix("/v1").unwrap_or(path),
        Some(Native::Gemini) => path.strip_suffix("/v1beta").or(path.strip_suffix("/v1")).unwrap_or(path),
        _ => path,
    };
    Some(format!("{scheme}://{host}{path}"))
}

pub(super) enum Wrong {
    User,
    Query,
    Other(&'static str),
}

pub(super) fn parse_base(text: &str) -> Result<BaseUrl, Wrong> {
    // Before the parser, which may fail on such an address for another reason.
    if text.contains('@') {
        return Err(Wrong::User);
    }
    if text.contains(['?', '#']) {
        return Err(Wrong::Query);
    }
    let text = text.trim_end_matches('/');
    let uri: Uri = text.parse().map_err(|_| Wrong::Other("this is no address"))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        Some(_) => return Err(Wrong::Other("the scheme is neither http nor https")),
        None => return Err(Wrong::Other("the scheme is missing")),
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err(Wrong::Other("the host is missing"));
    }
    let port = uri.authority().map(|a| a.as_str()).and_then(port_text);
    if port.is_some_and(|port| port.parse::<u16>().map_or(true, |port| port == 0)) {
        return Err(Wrong::Other("the port is not from 1 to 65535"));
    }
    Ok(BaseUrl { uri, text: text.to_owned() })
}

/// What stands after the host's colon; `None` without one. IPv6 hosts have colons of their own, in brackets.
fn port_text(authority: &str) -> Option<&str> {
    let after_host = authority.rfind(']').map_or(authority, |end| authority.get(end..).unwrap_or_default());
    after_host.split_once(':').map(|(_, port)| port)
}

const PROXY: &str = "\"env\", \"off\" or an address such as \"http://proxy.example:3128\"";

pub(super) fn proxy(v: &Value<'_>) -> Option<Proxy> {
    let Some(text) = v.raw_text() else { return v.wrong(PROXY) };
    match text {
        "env" => return Some(Proxy::Env),
        "off" => return Some(Proxy::Off),
        _ => {}
    }
    let wrong = |why: &str| v.refuse(format!("an address {why}"), PROXY);
    let Ok(uri) = text.parse::<Uri>() else { return wrong("that is none") };
    if !matches!(uri.scheme_str(), Some("http" | "https" | "socks5" | "socks5h" | "socks4" | "socks4a")) {
        return wrong("without http, https, socks5 or socks4 in front");
    }
    let Some(authority) = uri.authority().filter(|authority| !authority.host().is_empty()) else {
        return wrong("without a host");
    };
    let host = authority.as_str().rsplit('@').next().unwrap_or_default();
    let user = if authority.as_str().contains('@') { "***@" } else { "" };
    let shown = format!("{}://{user}{host}", uri.scheme_str().unwrap_or_default());
    Some(Proxy::Url(ProxyUrl::new(shown, text.to_owned())))
}
