//! POSIX asynchronous I/O.
