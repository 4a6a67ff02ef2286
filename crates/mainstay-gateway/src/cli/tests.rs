//! What the command line must do.
use super::*;
