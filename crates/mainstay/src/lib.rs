//! mainstay
