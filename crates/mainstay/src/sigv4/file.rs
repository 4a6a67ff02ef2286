//! Credentials from a file that somebody else keeps fresh.

use super::Credentials;
use crate::secret::Redactor;
use parking_lot::Mutex;
use std::{
    fmt,
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::Instant;

/// How often the file is looked at, at most.
const EVERY: Duration = Duration::from_secs(1);

/// A larger file is none of credentials.
const MAX_FILE: u64 = 1 << 20;

/// A profile of AWS's shared credentials file, as `aws configure`, a sidecar or a job that calls `aws sts` writes it. A clone is
/// cheap and shares what was read.
///
/// ```ini
/// [default]
/// aws_access_key_id = ASIAEXAMPLE
/// aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
/// aws_session_token = FwoGZXIvYXdzEXAMPLE
/// ```
///
/// The file is looked at when credentials are asked for, at most once a second, and read again when its time, length or identity
/// has changed. That happens on the thread that asks, so it belongs on a local disk. While it is missing, half written or without
/// the profile, the last credentials that were whole are used on, and a warning says so; best it is replaced by a rename.
///
/// Source: the AWS SDKs and tools reference guide, "Shared config and credentials files".
///
/// ```
/// use mainstay::sigv4::{CredentialsFile, Signer};
///
/// # let path = std::env::temp_dir().join(format!("mainstay-doc-{}", std::process::id()));
/// # std::fs::write(&path, "[bedrock]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = wJalrXUtnFEMI\n").unwrap();
/// let file = CredentialsFile::open(&path, "bedrock").unwrap();
/// let signer = Signer::asking(move || file.current(), "us-east-1", "bedrock");
/// # std::fs::remove_file(&path).unwrap();
/// ```
#[derive(Clone)]
pub struct CredentialsFile(Arc<Shared>);

struct Shared {
    path: PathBuf,
    profile: String,
    read: Mutex<State>,
}

struct State {
    credentials: Credentials,
    /// Those, and the ones before, which calls that are under way were signed with.
    redactor: Redactor,
    /// The file as it was when it was last read, well or badly.
    seen: Option<Seen>,
    looked: Instant,
}

/// What changes when a file does.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    modified: Option<SystemTime>,
    length: u64,
    identity: u64,
}

impl Seen {
    fn of(file: &Metadata) -> Self {
        #[cfg(unix)]
        let identity = std::os::unix::fs::MetadataExt::ino(file);
        #[cfg(not(unix))]
        let identity = 0;
        Self { modified: file.modified().ok(), length: file.len(), identity }
    }
}

impl CredentialsFile {
    /// Reads a profile; `default` is the one that AWS's own tools read unless told otherwise.
    ///
    /// # Errors
    /// [`CredentialsFileError`] where the file cannot be read, or the profile is not in it or not whole.
    pub fn open(path: impl Into<PathBuf>, profile: &str) -> Result<Self, CredentialsFileError> {
        let (path, profile) = (path.into(), profile.to_owned());
        let seen = fs::metadata(&path).ok().map(|file| Seen::of(&file));
        let credentials = read(&path, &profile)?;
        let redactor = Redactor::new(credentials.secrets());
        let state = State { credentials, redactor, seen, looked: Instant::now() };
        Ok(Self(Arc::new(Shared { path, profile, read: Mutex::new(state) })))
    }

    /// The credentials as the file has them now.
    pub fn current(&self) -> Credentials {
        self.look().credentials.clone()
    }

    /// Cuts the credentials out of text, those before the last change included.
    pub fn redactor(&self) -> Redactor {
        self.0.read.lock().redactor.clone()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Which profile is read.
    pub fn profile(&self) -> &str {
        &self.0.profile
    }

    fn look(&self) -> parking_lot::MutexGuard<'_, State> {
        let Shared { path, profile, read: state } = &*self.0;
        let mut state = state.lock();
        if state.looked.elapsed() < EVERY {
            return state;
        }
        state.looked = Instant::now();
        let seen = fs::metadata(path).ok().map(|file| Seen::of(&file));
        if seen == state.seen {
            return state;
        }
        state.seen = seen;
        match read(path, profile) {
            Ok(credentials) => {
                let all = state.credentials.secrets().chain(credentials.secrets());
                state.redactor = Redactor::new(all);
                state.credentials = credentials;
                tracing::info!(file = %path.display(), profile, "credentials were read again");
            }
            Err(error) => tracing::warn!(%error, "the last credentials are used on"),
        }
        state
    }
}

impl fmt::Debug for CredentialsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { path, profile, .. } = &*self.0;
        f.debug_struct("CredentialsFile")
            .field("path", path)
            .field("profile", profile)
            .finish_non_exhaustive()
    }
}

fn read(path: &Path, profile: &str) -> Result<Credentials, CredentialsFileError> {
    let failed = |why: Why| CredentialsFileError { path: path.to_owned(), profile: profile.to_owned(), why };
    let text = read_text(path).map_err(|error| failed(Why::Unreadable(error)))?;
    let [id, secret, token] = fields(&text, profile).ok_or_else(|| failed(Why::NoProfile))?;
    let filled = |value: Option<&'_ str>| value.filter(|value| !value.is_empty()).map(str::to_owned);
    let id = filled(id).ok_or_else(|| failed(Why::Missing("aws_access_key_id")))?;
    let secret = filled(secret).ok_or_else(|| failed(Why::Missing("aws_secret_access_key")))?;
    Credentials::new(&id, &secret, filled(token).as_deref()).ok_or_else(|| failed(Why::Unusable))
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {MAX_FILE} bytes"),
        ));
    }
    Ok(text)
}

/// The id, the secret and the token of a profile; `None` where it is not there. Of two lines for one the last counts.
fn fields<'t>(text: &'t str, profile: &str) -> Option<[Option<&'t str>; 3]> {
    let mut found: Option<[Option<&str>; 3]> = None;
    let mut inside = false;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[') {
            inside = name.split(']').next().map(str::trim) == Some(profile);
            if inside {
                found.get_or_insert([None; 3]);
            }
            continue;
        }
        let (Some([id, secret, token]), true) = (&mut found, inside) else { continue };
        let Some((name, value)) = line.split_once('=') else { continue };
        let place = match name.trim().to_ascii_lowercase().as_str() {
            "aws_access_key_id" => id,
            "aws_secret_access_key" => secret,
            "aws_session_token" | "aws_security_token" => token,
            _ => continue,
        };
        *place = Some(value.trim());
    }
    found
}

/// Why no credentials could be read from a file. It shows none of them.
#[derive(Debug)]
pub struct CredentialsFileError {
    path: PathBuf,
    profile: String,
    why: Why,
}

#[derive(Debug)]
enum Why {
    Unreadable(io::Error),
    NoProfile,
    Missing(&'static str),
    Unusable,
}

impl fmt::Display for CredentialsFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, profile) = (self.path.display(), &self.profile);
        match &self.why {
            Why::Unreadable(error) => write!(f, "the credentials file {file} cannot be read: {error}"),
            Why::NoProfile => write!(f, "the credentials file {file} has no profile [{profile}]"),
            Why::Missing(field) => {
                write!(f, "the profile [{profile}] of the credentials file {file} has no {field}")
            }
            Why::Unusable => {
                write!(
                    f,
                    "the profile [{profile}] of the credentials file {file} has a value that no header can hold"
                )
            }
        }
    }
}

impl std::error::Error for CredentialsFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Why::Unreadable(error) = &self.why { Some(error) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is gone at the end.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(text: &str) -> Self {
            let this =
                Self(std::env::temp_dir().join(format!("mainstay-credentials-{:016x}", fastrand::u64(..))));
            this.write(text);
            this
        }

        /// As a sidecar does it: a new file in place of the old one.
        fn write(&self, text: &str) {
            let new = self.0.with_extension("new");
            fs::write(&new, text).unwrap();
            fs::rename(new, &self.0).unwrap();
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn profile(id: &str) -> String {
        format!(
            "[p]\naws_access_key_id = {id}\naws_secret_access_key = secret-of-{id}\naws_session_token=token-of-{id}==\n"
        )
    }

    fn id(file: &CredentialsFile) -> String {
        file.current().access_key_id.expose().to_owned()
    }

    #[test]
    fn a_profile_is_read_as_awss_tools_read_it() {
        let text = "; a comment\n[default]\r\naws_access_key_id=D\r\naws_secret_access_key=d\r\n\
            #[p]\n[ p ] \n AWS_Access_Key_Id = A=B \n# aws_access_key_id = no\naws_secret_access_key = s/+=#1\nregion = x\n\n\
            [q]\naws_session_token = T\n[p]\naws_security_token = old\n";
        assert_eq!(fields(text, "p"), Some([Some("A=B"), Some("s/+=#1"), Some("old")]));
        assert_eq!(fields(text, "default"), Some([Some("D"), Some("d"), None]));
        assert_eq!(fields(text, "q"), Some([None, None, Some("T")]));
        assert_eq!(fields(text, "x"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_changes_is_read_again_at_most_once_a_second() {
        let path = Temporary::new(&profile("one"));
        let file = CredentialsFile::open(&path.0, "p").unwrap();
        path.write(&profile("another"));
        assert_eq!(id(&file), "one");
        tokio::time::advance(EVERY).await;
        assert_eq!((id(&file), id(&file.clone())), ("another".into(), "another".into()));
        // Calls that are under way were signed with the others.
        let text = file.redactor().text("token-of-one== secret-of-one token-of-another== fine");
        assert_eq!(text, "[redacted] [redacted] [redacted] fine");
    }

    #[tokio::test(start_paused = true)]
    async fn while_it_is_missing_or_half_written_the_last_ones_are_used_on() {
        let path = Temporary::new(&profile("one"));
        let file = CredentialsFile::open(&path.0, "p").unwrap();
        for half in ["", "[p]\naws_access_key_id = two\n", "[other]\n"] {
            path.write(half);
            tokio::time::advance(EVERY).await;
            assert_eq!(id(&file), "one", "{half:?}");
        }
        fs::remove_file(&path.0).unwrap();
        tokio::time::advance(EVERY).await;
        assert_eq!(id(&file), "one");
        path.write(&profile("two"));
        tokio::time::advance(EVERY).await;
        assert_eq!(id(&file), "two");
    }

    #[test]
    fn what_is_wrong_is_said_and_no_secret_is() {
        let path = Temporary::new(
            "[p]\naws_access_key_id = A\n[q]\naws_access_key_id = A\naws_secret_access_key = hunter2\u{e9}\n",
        );
        for (profile, part) in
            [("p", "has no aws_secret_access_key"), ("x", "no profile [x]"), ("q", "no header")]
        {
            let error = CredentialsFile::open(&path.0, profile).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("mainstay-credentials"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = CredentialsFile::open(path.0.join("nowhere"), "p").unwrap_err();
        assert!(error.to_string().contains("cannot be read") && std::error::Error::source(&error).is_some());
        let good = Temporary::new(&profile("hunter2"));
        assert!(!format!("{:?}", CredentialsFile::open(&good.0, "p").unwrap()).contains("hunter2"));
    }
}
