//! What the configuration must do.
