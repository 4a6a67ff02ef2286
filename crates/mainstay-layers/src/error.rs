//! The boxed error that layers pass up, and how to find a cause in its chain.

use std::{error::Error, io};

/// The error type of every layer here: anything that is an error and can cross threads.
pub type BoxError = Box<dyn Error + Send + Sync + 'static>;

/// The first error of type `T` in a chain, the outermost first.
///
/// ```
/// use mainstay_layers::{classify::{Class, Failed, Verdict}, error::find_cause};
///
/// let error = Failed::new(Verdict::new(Class::Timeout), "too slow");
/// assert!(find_cause::<Failed>(&error).is_some());
/// ```
pub fn find_cause<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        // `io::Error` does not count the error it wraps as its source, but the source of that.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}
