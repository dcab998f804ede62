//! Files mapped into memory.
