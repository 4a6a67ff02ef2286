//! Where the binary is.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The path of the gateway's binary: `MAINSTAY_BIN`, or the one beside this test, built now.
///
/// Cargo tells a test the path of its own package's binaries only. So it is asked to build this one, once a process,
/// in the profile and the target folder of the test itself; when nothing changed that takes a moment, and a test
/// never meets a binary that is older than the code.
///
/// # Panics
/// When it cannot be built.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match env::var_os("MAINSTAY_BIN") {
        Some(path) => path.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    let test = env::current_exe().expect("a test knows its own path");
    // target/PROFILE/deps/TEST, or target/TRIPLE/PROFILE/deps/TEST.
    let folder = test.parent().and_then(Path::parent).expect("a test lies in target/PROFILE/deps");
    let target = folder.parent().expect("a profile's folder lies in target");
    let profile = match folder.file_name().and_then(|name| name.to_str()).expect("a profile has a name") {
        "debug" => "dev",
        other => other,
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--package",
            "mainstay-gateway",
            "--bin",
            "mainstay",
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "the gateway could not be built: {status}");
    folder.join(format!("mainstay{}", env::consts::EXE_SUFFIX))
}
