//! Signing requests to AWS: Signature Version 4, with a key pair instead of a bearer key.
//!
//! A [`Signer`] signs method, path, query, the headers that matter and the body's hash, afresh for every try, since a
//! signature is good for some minutes only. It belongs to an [`EndpointLayer`](crate::endpoint::EndpointLayer), which
//! knows the address and the head that are really sent. The body is hashed once for all tries, by a [`PayloadHashLayer`]
//! outside the retry.
//!
//! The time is the system's, at the moment of signing; [`Signer::with_clock`] is for tests. Temporary credentials expire, and are
//! not renewed here: [`Signer::asking`] asks for them at each try, and a [`CredentialsFile`] reads them from where a sidecar or a
//! job puts fresh ones.
//!
//! Source: the IAM user guide, "AWS Signature Version 4 for API requests".
//!
//! ```
//! use mainstay::{endpoint::EndpointLayer, provider::Kind, sigv4::{Credentials, PayloadHashLayer, Signer}};
//! use tower::ServiceBuilder;
//!
//! let credentials = Credentials::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None).unwrap();
//! let signer = Signer::new(credentials, "us-east-1", "bedrock");
//! let base = "https://bedrock-runtime.us-east-1.amazonaws.com".parse().unwrap();
//! let stack = ServiceBuilder::new()
//!     .layer(PayloadHashLayer::new())
//!     // retry, breaker, judge, ...
//!     .layer(EndpointLayer::new(Kind::BedrockConverse, &base).unwrap().with_signer(signer));
//! ```

mod canonical;
mod credentials;
mod file;
mod hash;
mod signer;
#[cfg(test)]
mod tests;

pub use self::credentials::Credentials;
pub use self::file::{CredentialsFile, CredentialsFileError};
pub use self::hash::{PayloadHash, PayloadHashLayer, PayloadHashService};
pub use self::signer::{SignError, Signer};

/// The region in the host of a Bedrock endpoint: `us-east-1` of `bedrock-runtime.us-east-1.amazonaws.com`. `None` for
/// others.
///
/// ```
/// use mainstay::sigv4::region_of;
///
/// assert_eq!(region_of("bedrock-runtime-fips.us-gov-west-1.amazonaws.com"), Some("us-gov-west-1"));
/// assert_eq!(region_of("vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com"), Some("eu-west-1"));
/// assert_eq!(region_of("proxy.example"), None);
/// ```
pub fn region_of(host: &str) -> Option<&str> {
    let mut labels = host.split('.');
    labels.find(|label| matches!(*label, "bedrock-runtime" | "bedrock-runtime-fips"))?;
    labels.next().filter(|region| !region.is_empty())
}

/// The address of Bedrock's runtime in a region. `None` where that is no region's name.
///
/// ```
/// use mainstay::sigv4::bedrock_runtime;
///
/// assert_eq!(bedrock_runtime("eu-west-3").unwrap(), "https://bedrock-runtime.eu-west-3.amazonaws.com");
/// assert!(bedrock_runtime("evil.example/").is_none());
/// ```
pub fn bedrock_runtime(region: &str) -> Option<String> {
    let is_name = !region.is_empty()
        && region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    is_name.then(|| format!("https://bedrock-runtime.{region}.{domain}"))
}
