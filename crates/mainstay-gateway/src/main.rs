//! The gateway binary.

use clap::Parser;
use mainstay_gateway::{
    app::App,
    cli::{self, BAD_CONFIG, Cli, Command, Source},
    config::Config,
    demo, logging,
    server::{Server, ServerConfig, cores},
};
use mainstay_testkit::demo::DemoProviders;
use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The exit code where it cannot serve: the address is taken, say.
const CANNOT_SERVE: u8 = 1;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match &cli.command {
        Some(Command::Check) => cli::check(&cli.source(), &mut io::stdout(), &mut io::stderr()).into(),
        Some(Command::Explain(args)) => explain(&cli, args).into(),
        Some(Command::Serve(_)) | None => {
            logging::to_stderr(cli.log_format);
            // It accepts and hears signals; the server's workers have runtimes of their own.
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return fail(&error, CANNOT_SERVE),
            };
            runtime.block_on(serve(&cli))
        }
    }
}

fn explain(cli: &Cli, args: &cli::ExplainArgs) -> u8 {
    let config = match cli.source() {
        Source::Demo => {
            let _ = writeln!(
                io::stderr(),
                "nothing to explain: there is no ./mainstay.toml and no --config FILE"
            );
            return BAD_CONFIG;
        }
        source => source.load(),
    };
    match config {
        Ok(Some(config)) => cli::explain(&config, args, &mut io::stdout(), &mut io::stderr()),
        Ok(None) => 0,
        Err(error) => cli::refuse(&error, &mut io::stderr()),
    }
}

async fn serve(cli: &Cli) -> ExitCode {
    // The demo's providers live as long as the gateway.
    let mut providers = None;
    let loaded = match cli.source().load() {
        Ok(Some(config)) => Ok(config),
        Ok(None) => match DemoProviders::start().await {
            Ok(started) => {
                let env = |name: &str| std::env::var(name).ok();
                demo::config(providers.insert(started), &env)
            }
            Err(error) => return fail(&error, CANNOT_SERVE),
        },
        Err(error) => Err(error),
    };
    let config: Config = match loaded {
        Ok(config) => config,
        Err(error) => return cli::refuse(&error, &mut io::stderr()).into(),
    };
    cli::warn(&config, &mut io::stderr());
    let app = match App::new(&config) {
        Ok(app) => app,
        Err(error) => return fail(&error, BAD_CONFIG),
    };
    let listen = cli.listen().unwrap_or(config.server.listen);
    let bounds = ServerConfig {
        workers: config.server.workers.unwrap_or_else(cores),
        header_timeout: config.server.header_timeout,
        max_connections: config.server.max_connections,
        max_headers: config.server.max_headers,
        drain: config.server.drain,
        write_idle: config.server.write_idle,
    };
    let bound =
        Server::bind(listen, app.clone(), bounds).await.and_then(|server| Ok((server.address()?, server)));
    let (address, server) = match bound {
        Ok(bound) => bound,
        Err(error) => {
            let hint = format!("cannot listen on {listen}: {error}; choose another address with --listen");
            return fail(&*Box::<dyn Error>::from(hint), CANNOT_SERVE);
        }
    };
    tracing::info!(%address, "listening");
    if providers.is_some() {
        // Whoever started it may have closed our output: that ends nothing.
        let _ = writeln!(io::stdout(), "{}", demo::welcome(address, &config));
    }
    tokio::select! {
        () = server.run(stop()) => {}
        () = impatience(app) => {}
    }
    ExitCode::SUCCESS
}

/// Whoever says stop a second time does not want to wait for the drain. Never ends.
async fn impatience(app: App) {
    stop().await;
    stop().await;
    app.cut();
    std::future::pending().await
}

/// Waits for Ctrl-C or SIGTERM.
async fn stop() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    let _ = interrupted.await;
}

fn fail(error: &dyn Error, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "mainstay: {error}");
    code.into()
}
