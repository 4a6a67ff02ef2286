//! The command line: what was asked for, and the two commands that need no server.
//!
//! Exit codes: 0 well, 1 no such model (`explain`), 2 a configuration or a command line that cannot be used.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::{Config, ConfigError, parse_listen};

/// Exit code for a configuration that was refused. clap's own is the same.
pub const BAD_CONFIG: u8 = 2;
/// Exit code of `explain` for a model that nothing takes.
pub const NO_SUCH_MODEL: u8 = 1;

const DEFAULT_FILE: &str = "mainstay.toml";

const LONG_ABOUT: &str = "\
Mainstay keeps LLM calls up. It stands between your program and the providers: point an OpenAI, Anthropic or Gemini \
SDK at it, and calls are retried, timed out, bounded and failed over by rules that you set in one file.

Without a file it serves an offline demo, with scripted providers inside the process: no key and no network needed.";

const AFTER_HELP: &str = "\
Examples:
  mainstay                                  serve ./mainstay.toml, or the offline demo if there is none
  mainstay --config prod.toml               serve another file
  mainstay --listen 0.0.0.0:9000            serve on another address
  mainstay check                            print the effective settings, or what is wrong with them
  mainstay explain --model gpt-5 --stream   which route and which providers such a call would take

Then, with any SDK:
  OPENAI_BASE_URL=http://127.0.0.1:8080/v1
  ANTHROPIC_BASE_URL=http://127.0.0.1:8080

Environment:
  RUST_LOG      what is logged, as \"info\" (the default), \"debug\" or \"mainstay=debug,hyper=warn\".
                No level shows keys, prompts or answers.
  HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY
                the way to the providers, where a provider's `proxy` says \"env\" (the default)
  and the variables that the file names under api_key_env, such as OPENAI_API_KEY

Exit codes: 0 well; 1 `explain` found no route; 2 the configuration or the command line cannot be used.";

/// The gateway that keeps LLM calls up.
#[derive(Clone, Debug, Parser)]
#[command(name = "mainstay", version, long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do; without a command: serve.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// The configuration. Default: ./mainstay.toml if it is there, else the offline demo.
    #[arg(long, short, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,

    /// How log lines look.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,

    /// What only serving needs.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// What only serving needs; written before or after the word `serve`.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeArgs {
    /// Where callers connect; goes over the file's server.listen. Port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    pub listen: Option<SocketAddr>,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Serve (this is what happens without a command).
    Serve(ServeArgs),
    /// Print the effective settings as TOML, or say what is wrong with them. Calls nobody.
    Check,
    /// Say which route and which providers a model's calls would take, and with which settings. Calls nobody.
    Explain(ExplainArgs),
}

/// What `explain` needs.
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// The model, as a caller would name it.
    #[arg(long, short, value_name = "NAME")]
    pub model: String,
    /// Explain a streaming call.
    #[arg(long)]
    pub stream: bool,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where the configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// There is none: the scripted providers.
    Demo,
}

impl Source {
    /// The file that was named, else `mainstay.toml` in `folder` if it is there, else the demo.
    #[must_use]
    pub fn find(named: Option<&Path>, folder: &Path) -> Self {
        if let Some(file) = named {
            return Self::File(file.to_owned());
        }
        // A link to nowhere is a file that somebody wants read, not a wish for the demo.
        let file = folder.join(DEFAULT_FILE);
        if file.symlink_metadata().is_ok() { Self::File(file) } else { Self::Demo }
    }

    /// Reads the file; `None` for the demo.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn load(&self) -> Result<Option<Config>, ConfigError> {
        match self {
            Self::File(file) => Config::load(file).map(Some),
            Self::Demo => Ok(None),
        }
    }
}

impl Cli {
    /// Where the configuration comes from, seen from the working directory.
    #[must_use]
    pub fn source(&self) -> Source {
        Source::find(self.config.as_deref(), Path::new(""))
    }

    /// The address that goes over the file's, if one was given.
    #[must_use]
    pub fn listen(&self) -> Option<SocketAddr> {
        match &self.command {
            Some(Command::Serve(args)) => args.listen.or(self.serve.listen),
            _ => self.serve.listen,
        }
    }
}

/// Says on `err` why a configuration was refused; gives the exit code.
pub fn refuse(error: &ConfigError, err: &mut dyn Write) -> u8 {
    // Whoever reads this may have gone away (`| head`): nothing to be done about it.
    let _ = writeln!(err, "{error}");
    BAD_CONFIG
}

/// Says on `err` what works but is hardly meant.
pub fn warn(config: &Config, err: &mut dyn Write) {
    for warning in &config.warnings {
        let _ = writeln!(err, "warning: {}:{warning}", config.file);
    }
}

/// `mainstay check`: the settings on `out`, warnings and refusals on `err`; gives the exit code.
pub fn check(source: &Source, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    match source.load() {
        Err(error) => refuse(&error, err),
        Ok(None) => {
            let _ = writeln!(
                out,
                "# There is no ./{DEFAULT_FILE} and no --config FILE: `mainstay` would serve the offline demo."
            );
            0
        }
        Ok(Some(config)) => {
            warn(&config, err);
            let _ = write!(out, "{config}");
            0
        }
    }
}

/// `mainstay explain` for a configuration that is there; gives the exit code.
pub fn explain(config: &Config, args: &ExplainArgs, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    match config.explain(&args.model, args.stream) {
        Some(text) => {
            let _ = write!(out, "{text}");
            0
        }
        None => {
            let there = config.models_there_are().join(", ");
            let _ = writeln!(err, "nothing takes the model {:?}\n  expected: one of {there}", args.model);
            NO_SUCH_MODEL
        }
    }
}

#[cfg(test)]
mod tests;
