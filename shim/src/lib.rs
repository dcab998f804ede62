//! The recorder that is preloaded into unmodified programs
