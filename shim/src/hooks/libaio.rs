//! The kernel's asynchronous I/O, through libaio.
