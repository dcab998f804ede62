//! End-to-end tests: real programs with and without the shim, merged and replayed
