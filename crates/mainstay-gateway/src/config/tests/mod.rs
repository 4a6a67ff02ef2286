//! What the configuration must do.

mod accepted;
mod aws;
mod capable;
mod defaults;
mod example;
mod explained;
mod prices;
mod refused;
mod secrets;
mod targets;
mod units;
mod warned;

use super::{Config, ConfigError};

/// With one key in the environment.
fn parse(text: &str) -> Result<Config, ConfigError> {
    let env = |name: &str| (name == "UP_KEY").then(|| "sk-test-secret-0123456789".to_owned());
    Config::parse(text, "mainstay.toml", &env)
}

fn good(text: &str) -> Config {
    match parse(text) {
        Ok(config) => config,
        Err(error) => panic!("refused:\n{error}\n\nof:\n{text}"),
    }
}

fn refused(text: &str) -> ConfigError {
    match parse(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

/// A provider `a` and a route to it, with more lines in the provider.
fn with(lines: &str) -> String {
    format!("[[routes]]\nmodels = [\"*\"]\ntargets = [\"a\"]\n[providers.a]\nkind = \"openai\"\n{lines}\n")
}
