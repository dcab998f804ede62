//! Sending signals, and waiting for them.
