//! System V and POSIX interprocess communication.
