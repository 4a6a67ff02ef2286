//! Compares the public API of each library crate with `tests/api/snapshots`, so that no change to it goes unnoticed.
//!
//! ```text
//! cargo run --manifest-path tests/api/Cargo.toml             # says what differs; ends with 1 if anything does
//! cargo run --manifest-path tests/api/Cargo.toml -- update   # takes it as it is now
//! ```
//!
//! Reads rustdoc's JSON, whose format changes with the compiler: with another format than the one that is read here it says
//! so, checks nothing, and ends well.

use public_api::Builder;
use std::{
    collections::BTreeSet,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

const LIBRARIES: [&str; 3] = ["mainstay-layers", "mainstay", "mainstay-testkit"];

/// What `public-api` reads.
const FORMAT: u64 = 57;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let update = match env::args().nth(1).as_deref() {
        None => false,
        Some("update") => true,
        Some(other) => return Err(format!("no such argument: {other}; there is only `update`").into()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut differs = false;
    for library in LIBRARIES {
        let json = document(&root, library)?;
        let format = serde_json::from_slice::<serde_json::Value>(&fs::read(&json)?)?;
        let format = format.get("format_version").and_then(serde_json::Value::as_u64);
        if format != Some(FORMAT) {
            println!("skipped: this compiler writes rustdoc JSON {format:?}, and {FORMAT} is what is read here");
            return Ok(ExitCode::SUCCESS);
        }
        let api = Builder::from_rustdoc_json(&json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()?;
        let now: String = api.items().map(|item| format!("{item}\n")).collect();
        let snapshot = root.join("tests/api/snapshots").join(format!("{library}.txt"));
        if update {
            fs::write(&snapshot, now)?;
        } else {
            differs |= !same(library, &fs::read_to_string(&snapshot)?, &now);
        }
    }
    Ok(if differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Has rustdoc write down what is public in `library`, with all its features.
fn document(root: &Path, library: &str) -> Result<PathBuf, Box<dyn Error>> {
    let target = root.join("target/api");
    let status = Command::new("cargo")
        .args(["rustdoc", "--quiet", "--lib", "--all-features", "-p", library, "--target-dir"])
        .arg(&target)
        .args(["--", "-Zunstable-options", "--output-format", "json"])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(root)
        .status()?;
    if !status.success() {
        return Err(format!("rustdoc of {library} failed").into());
    }
    Ok(target.join("doc").join(library.replace('-', "_")).with_extension("json"))
}

fn same(library: &str, agreed: &str, now: &str) -> bool {
    let (agreed, now): (BTreeSet<&str>, BTreeSet<&str>) = (agreed.lines().collect(), now.lines().collect());
    for line in agreed.difference(&now) {
        println!("{library}: - {line}");
    }
    for line in now.difference(&agreed) {
        println!("{library}: + {line}");
    }
    if agreed != now {
        println!("{library}: its public API is another one now; if that is meant, say so in CHANGELOG.md and run this with `update`");
    }
    agreed == now
}
