//! Messages: data with a header, which may carry descriptors (`SCM_RIGHTS`, unix(7)).

use super::system_calls;
use core::ffi::{c_int, c_uint};
use libc::{mmsghdr, msghdr, timespec};

system_calls! {
    SYS_sendmsg: sendmsg (fd: c_int, message: *const msghdr, flags: c_int) -> isize;
    SYS_recvmsg: recvmsg + recvmsg (fd: c_int, message: *mut msghdr, flags: c_int) -> isize;
    SYS_sendmmsg: sendmmsg + sendmmsg (fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int;
    SYS_recvmmsg: recvmmsg
        (fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec) -> c_int;
}
