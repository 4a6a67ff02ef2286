//! mainstay-testkit
