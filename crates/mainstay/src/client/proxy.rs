//! Which proxy requests go through, as settings.

use super::BuildError;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use std::{env, ffi::OsString, fmt};

/// Proxies by scheme of the request, and who is exempt. The builder reads the environment unless it is given one of
/// these.
///
/// A proxy's URL is `http://`, `https://`, `socks5://` or `socks4://`, with credentials if it wants them:
/// `http://user:password@proxy.corp:3128`. Without a scheme it is `http`. SOCKS proxies resolve the names.
///
/// ```
/// use mainstay::client::Proxy;
///
/// let proxy = Proxy::new("http://proxy.corp:3128").with_no_proxy("localhost, .corp, 10.0.0.0/8");
/// # let _ = proxy;
/// ```
#[derive(Clone, Default)]
pub struct Proxy {
    all: Option<String>,
    http: Option<String>,
    https: Option<String>,
    no: Option<String>,
}

/// This machine, in the words of `NO_PROXY`.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

impl Proxy {
    /// One proxy for everything, as `ALL_PROXY`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { all: Some(url.into()), ..Self::default() }
    }

    /// `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper case or, failing that, in lower. Empty is as
    /// if it were not set. Nothing is read where `REQUEST_METHOD` is set: under CGI a caller's `Proxy` header
    /// would come in as `HTTP_PROXY`. This machine itself (`localhost`, `127.0.0.0/8`, `::1`) is always exempt: no proxy
    /// elsewhere would find there what is meant.
    pub fn from_env() -> Self {
        Self::from_vars(|name| env::var_os(name))
    }

    fn from_vars(var: impl Fn(&str) -> Option<OsString>) -> Self {
        if var("REQUEST_METHOD").is_some() {
            return Self::default();
        }
        let read = |upper: &str| {
            var(upper)
                .or_else(|| var(&upper.to_ascii_lowercase()))
                .map(|value| value.to_string_lossy().into_owned())
        };
        let no = [read("NO_PROXY").as_deref().unwrap_or_default(), LOOPBACK].join(",");
        Self { all: read("ALL_PROXY"), http: read("HTTP_PROXY"), https: read("HTTPS_PROXY"), no: Some(no) }
    }

    /// The proxy for `http://` requests.
    #[must_use]
    pub fn with_http(mut self, url: impl Into<String>) -> Self {
        self.http = Some(url.into());
        self
    }

    /// The proxy for `https://` requests.
    #[must_use]
    pub fn with_https(mut self, url: impl Into<String>) -> Self {
        self.https = Some(url.into());
        self
    }

    /// Who is reached without a proxy, as in `NO_PROXY`: names with all that is below them, addresses, networks
    /// (`10.0.0.0/8`), `*`; separated by commas. Without it nobody is, but for [`from_env`](Self::from_env)'s loopback.
    #[must_use]
    pub fn with_no_proxy(mut self, list: impl Into<String>) -> Self {
        self.no = Some(list.into());
        self
    }

    /// The matcher, if there is any proxy. It would pass over a URL that it cannot read and go direct; we refuse it.
    pub(super) fn matcher(self) -> Result<Option<Matcher>, BuildError> {
        let [all, http, https, no] =
            [self.all, self.http, self.https, self.no].map(|v| v.unwrap_or_default().trim().to_owned());
        if all.is_empty() && http.is_empty() && https.is_empty() {
            return Ok(None);
        }
        for (name, url) in [("ALL_PROXY", &all), ("HTTP_PROXY", &http), ("HTTPS_PROXY", &https)] {
            check(url).map_err(|reason| BuildError::Proxy { name, reason })?;
        }
        Ok(Some(Matcher::builder().all(all).http(http).https(https).no(no).build()))
    }
}

fn check(url: &str) -> Result<(), &'static str> {
    if url.is_empty() {
        return Ok(());
    }
    let uri = url.parse::<Uri>().map_err(|_| "it is no URL; expected such as http://proxy.corp:3128")?;
    if uri.host().is_none_or(str::is_empty) {
        return Err("it names no host; expected such as http://proxy.corp:3128");
    }
    match uri.scheme_str() {
        None | Some("http" | "https" | "socks5" | "socks5h" | "socks4" | "socks4a") => Ok(()),
        Some(_) => Err("its scheme is none of http, https, socks5, socks4"),
    }
}

/// URLs of proxies hold passwords: only what is set is shown.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("all", &self.all.is_some())
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("no_proxy", &self.no)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_cannot_be_read_is_refused_without_its_password() {
        for bad in ["ftp://u:secret@host", "http://u:secret@ho st", "http://", "http://u:secret@:x"] {
            let error = Proxy::default().with_https(bad).matcher().unwrap_err();
            let said = error.to_string();
            assert!(said.contains("HTTPS_PROXY") && !said.contains("secret"), "{bad}: {said}");
        }
    }

    /// The proxies for `http` and `https` that these variables make.
    fn proxies(vars: &[(&str, &str)]) -> (Option<String>, Option<String>) {
        let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        let Some(matcher) = Proxy::from_vars(var).matcher().unwrap() else { return (None, None) };
        let host = |uri| Some(matcher.intercept(&Uri::from_static(uri))?.uri().host()?.to_owned());
        (host("http://api.example/"), host("https://api.example/"))
    }

    #[test]
    fn the_environment_is_read_as_curl_reads_it() {
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(proxies(&[]), (None, None));
        assert_eq!(proxies(&[("NO_PROXY", "*")]), (None, None));
        assert_eq!(proxies(&[("https_proxy", "http://a")]), (None, some("a")));
        assert_eq!(proxies(&[("HTTPS_PROXY", "b"), ("https_proxy", "a")]), (None, some("b")));
        assert_eq!(proxies(&[("ALL_PROXY", "a"), ("HTTP_PROXY", "b")]), (some("b"), some("a")));
        assert_eq!(proxies(&[("ALL_PROXY", "a"), ("NO_PROXY", "x.org, .example")]), (None, None));
        assert_eq!(proxies(&[("HTTP_PROXY", "a"), ("REQUEST_METHOD", "GET")]), (None, None));
    }

    #[test]
    fn the_environments_proxy_is_not_for_this_machine_itself() {
        for no in [None, Some(""), Some("x.org"), Some(" x.org , ")] {
            let var = |name: &str| match name {
                "ALL_PROXY" => Some(OsString::from("a")),
                "NO_PROXY" => no.map(OsString::from),
                _ => None,
            };
            let matcher = Proxy::from_vars(var).matcher().unwrap().unwrap();
            let goes = |uri| matcher.intercept(&Uri::from_static(uri)).is_some();
            for own in ["http://localhost:1/", "http://127.0.0.1:1/", "https://127.9.9.9/", "http://[::1]:1/"]
            {
                assert!(!goes(own), "{no:?} {own}");
            }
            for other in
                ["http://localhost.example/", "http://128.0.0.1/", "https://[::2]/", "http://10.0.0.1/"]
            {
                assert!(goes(other), "{no:?} {other}");
            }
        }
        // One that is set by hand is for all that it is set for.
        let matcher = Proxy::new("a").matcher().unwrap().unwrap();
        assert!(matcher.intercept(&Uri::from_static("http://127.0.0.1:1/")).is_some());
    }

    #[test]
    fn empty_is_not_set() {
        assert!(Proxy::new("").with_http(" ").matcher().unwrap().is_none());
        assert!(Proxy::new("proxy.corp:3128").matcher().unwrap().is_some());
    }

    #[test]
    fn debug_shows_no_credentials() {
        let shown = format!("{:?}", Proxy::new("http://u:secret@host").with_http("http://u:secret@host"));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
