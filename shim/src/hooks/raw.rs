//! System calls made by number.
