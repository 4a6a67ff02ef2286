//! The configuration: a file of TOML, read strictly, with everything resolved.
//!
//! [`Config::load`] reads the file, the environment variables and the key files that it names, merges the defaults
//! into each provider key by key, and refuses what it does not understand: unknown keys, wrong types, durations
//! without a unit, routes to nowhere. A refusal names the file, the line, the key, what stands there and what was
//! expected; all problems come at once. Nothing here opens a socket or matches a model's name against a route.
//!
//! **Units.** Durations are text with a unit (`"250ms"`, `"30s"`, `"1h30m"`), sizes text with a unit or a number of
//! bytes (`"16MiB"`, `65536`), rates text (`"10/s"`). Zero switches off what can be switched off.
//!
//! **Secrets.** Keys are read once, here, and live in [`secrecy`]'s types. No message, `Debug` or listing of this
//! module shows the value of a key or of a header, or what was written where a key was expected.
//!
//! **Defaults** stand at each field of [`settings`].
//!
//! ```
//! use mainstay_gateway::config::Config;
//!
//! let text = r#"
//! [providers.local]
//! kind = "ollama"
//!
//! [[routes]]
//! models = ["*"]
//! targets = ["local"]
//! "#;
//! let config = Config::parse(text, "mainstay.toml", &|_| None).unwrap();
//! assert_eq!(config.providers[0].base_url.as_str(), "http://127.0.0.1:11434/v1");
//! assert_eq!(config.providers[0].retry.attempts, 3);
//!
//! let wrong = text.replace("kind", "knid");
//! let refusal = Config::parse(&wrong, "mainstay.toml", &|_| None).unwrap_err().to_string();
//! assert!(refusal.contains("mainstay.toml:3:1: providers.local.knid"), "{refusal}");
//! ```

mod advice;
mod capabilities;
mod check;
mod doc;
mod explain;
mod problem;
mod read;
mod secret;
pub mod settings;
mod show;
mod spelling;
#[cfg(test)]
mod tests;
mod units;

use std::net::SocketAddr;
use std::path::Path;

use toml::de::DeTable;

pub use self::problem::{ConfigError, Problem, Warning};
pub use self::secret::{ApiKey, KeySource, Proxy, ProxyUrl};
use self::settings::{Priced, Provider, Route, Server, Tables, Target};

/// No configuration is longer; a path that leads elsewhere is not read on.
const LONGEST_FILE: u64 = 4 * 1024 * 1024;

/// All settings, resolved.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file, as it was named.
    pub file: String,
    /// The gateway's own side.
    pub server: Server,
    /// At least one, in the order of the file; names are unique.
    pub providers: Vec<Provider>,
    /// In the order of the file. Every target's provider is there.
    pub routes: Vec<Route>,
    /// What models cost, in the order of the file.
    pub prices: Vec<Priced>,
    /// What works but is hardly meant, in the order of the file.
    pub warnings: Vec<Warning>,
}

impl Config {
    /// Reads a file, with the process's environment.
    ///
    /// # Errors
    /// [`ConfigError::Read`] if the file cannot be read, [`ConfigError::Invalid`] with all problems otherwise.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = read::text(path, LONGEST_FILE)
            .map_err(|source| ConfigError::Read { file: path.to_owned(), source })?;
        // What is not UTF-8 fits into no header either, and is refused there under the variable's name.
        let env = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self::parse(&text, &path.display().to_string(), &env)
    }

    /// Reads text. `file_name` is for messages, and its folder is where relative paths start; `env` looks up
    /// environment variables.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`], with all problems that could be told apart: those of the syntax, or else those of
    /// the content.
    pub fn parse(
        text: &str,
        file_name: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (root, wrong) = DeTable::parse_recoverable(text);
        let doc = doc::Doc::new(text, file_name, root.get_ref(), env);
        for error in &wrong {
            syntax(&doc, text, error);
        }
        // After a slip in the syntax the rest may be misread: only what is certain is reported.
        let config = if wrong.is_empty() { Some(sections(&doc)) } else { None };
        let (problems, more, warnings) = doc.finish();
        match config {
            Some((server, providers, routes, prices)) if problems.is_empty() => {
                Ok(Self { file: file_name.to_owned(), server, providers, routes, prices, warnings })
            }
            _ => Err(ConfigError::Invalid { file: file_name.to_owned(), problems, more }),
        }
    }

    /// The four tables that hold for a target: its own, else its provider's.
    #[must_use]
    pub fn tables(&self, target: &Target) -> Option<Tables> {
        match &target.tables {
            Some(own) => Some((**own).clone()),
            None => self.provider(&target.provider).map(Provider::tables),
        }
    }

    /// The provider of this name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }
}

/// A slip in the syntax, in the parser's words. They name what is wrong and never quote the file.
fn syntax(doc: &doc::Doc<'_>, text: &str, error: &toml::de::Error) {
    let span = error.span().unwrap_or_default();
    let (found, expected) = match error.message().trim().split_once(", expected ") {
        Some((found, expected)) => (found, expected),
        None => (error.message().trim(), "TOML, as https://toml.io has it"),
    };
    if found == "duplicate key" {
        let key = text.get(span.clone()).unwrap_or_default();
        return doc.problem(span.start, key, "the same key or table a second time", "each of them once");
    }
    doc.problem(span.start, "", format!("a slip in the syntax: {found}"), expected);
}

fn sections(doc: &doc::Doc<'_>) -> (Server, Vec<Provider>, Vec<Route>, Vec<Priced>) {
    let mut root = doc.root();
    let server = root.table("server").map(read::server).unwrap_or_default();
    let defaults = root.table("defaults").map(read::defaults).unwrap_or_default();
    const PROVIDERS: &str = "at least one table [providers.NAME] with a kind";
    let providers = root.get("providers");
    if providers.is_none() {
        root.missing("providers", PROVIDERS);
    }
    let (providers, names) = providers
        .and_then(|value| value.table())
        .map(|table| read::providers(&table, &defaults, PROVIDERS))
        .unwrap_or_default();
    let targets = read::Targets::new(&names, &providers);
    let routes = root.get("routes").map(|v| read::routes(&v, targets)).unwrap_or_default();
    let prices = root.table("prices").map(|table| read::prices(&table, &names)).unwrap_or_default();
    root.finish(|_| None);
    check::whole(doc, &server, &providers, &routes);
    (server, providers, routes, prices)
}

/// Reads `ADDRESS:PORT` as `server.listen` does.
///
/// # Errors
/// What was expected, for a message.
pub fn parse_listen(text: &str) -> Result<SocketAddr, &'static str> {
    read::listen_address(text)
}
