//! What each system call is recorded as.

use super::{Context, Room, Seen, SystemCall, asynchronous, files, is_unrecorded, others, sockets, waiting};
use crate::calls::Call;

/// The numbers, under the names that the kernel gives them.
mod numbers {
    pub use libc::*;
    /// The C library's headers leave it out.
    #[allow(non_upper_case_globals)]
    pub const SYS_io_pgetevents: c_long = 333;
}

/// Reads, before the call, what the kernel will write over: the result is to be handed on in [`SystemCall::before`].
pub fn look_before<W: Context>(number: i64, args: &[u64; 6], context: &mut W) -> i64 {
    match number {
        libc::SYS_nanosleep => waiting::overwritten(args[0], args[1], context),
        libc::SYS_clock_nanosleep => waiting::overwritten(args[2], args[3], context),
        libc::SYS_select => waiting::time_asked(args[4], context),
        libc::SYS_ppoll if context.has_arguments_of_kernel() => waiting::limit_asked(args[2], context),
        libc::SYS_pselect6 if context.has_arguments_of_kernel() => waiting::limit_asked(args[4], context),
        libc::SYS_recvfrom => sockets::room_for_address(args[5], context),
        libc::SYS_recvmsg => sockets::room_for_name(args[1], context),
        _ => 0,
    }
}

/// A system call that is known when the program is compiled.
pub struct Number<const NUMBER: i64>;

/// What such a call is recorded as.
pub trait Known {
    /// As [`call_of`] tells.
    const CALL: Call;
    /// Does what [`decode`] does.
    fn decode<W: Context>(call: SystemCall, context: &mut W, room: &mut Room);
}

/// A line of the first part says what a record of the call holds: integers by the position of the argument and how
/// it is to be taken, then texts by the position of the pointer. A line of the second part names the function that
/// writes the record, and the call that it is about.
macro_rules! system_calls {
    ({ $( $number:ident: $call:ident [$($how:ident $position:literal),*] [$($text:literal),*]; )* }
     { $( $special:ident: $about:ident $function:path; )* }) => {
        /// What the system call of this number is recorded as; some turn out to be a sibling of that. `None`: it has no
        /// record.
        pub fn call_of(number: i64) -> Option<Call> {
            match number {
                $( numbers::$number => Some(Call::$call), )*
                $( numbers::$special => Some(Call::$about), )*
                _ if is_unrecorded(number) => None,
                _ => Some(Call::Syscall),
            }
        }

        /// Writes the records of a system call that has returned.
        pub fn decode<W: Context>(call: SystemCall, context: &mut W, room: &mut Room) {
            match call.number {
                $( numbers::$number => Number::<{ numbers::$number }>::decode(call, context, room), )*
                $( numbers::$special => Number::<{ numbers::$special }>::decode(call, context, room), )*
                number if is_unrecorded(number) => {}
                number => Seen::of(call, context, room).put(Call::Syscall, [number]),
            }
        }

        $( impl Known for Number<{ numbers::$number }> {
            const CALL: Call = Call::$call;
            #[inline]
            fn decode<W: Context>(call: SystemCall, context: &mut W, room: &mut Room) {
                let mut seen = Seen::of(call, context, room);
                let numbers = [$(seen.$how($position)),*];
                system_calls!(@put seen $call numbers [$($text)*]);
            }
        } )*
        $( impl Known for Number<{ numbers::$special }> {
            const CALL: Call = Call::$about;
            #[inline]
            fn decode<W: Context>(call: SystemCall, context: &mut W, room: &mut Room) {
                $function(&mut Seen::of(call, context, room));
            }
        } )*
    };
    (@put $seen:ident $call:ident $numbers:ident []) => { $seen.put(Call::$call, $numbers) };
    (@put $seen:ident $call:ident $numbers:ident [$text:literal]) => { $seen.put_text(Call::$call, $numbers, $text) };
    (@put $seen:ident $call:ident $numbers:ident [$first:literal $second:literal]) => {
        $seen.put_texts(Call::$call, $numbers, [$first, $second])
    };
}

system_calls! {
    {
        SYS_read: Read [int 0, word 2] [];
        SYS_write: Write [int 0, word 2] [];
        SYS_pread64: Pread [int 0, word 2, word 3] [];
        SYS_pwrite64: Pwrite [int 0, word 2, word 3] [];
        SYS_lseek: Lseek [int 0, word 1, int 2] [];
        SYS_close: Close [int 0] [];
        SYS_close_range: CloseRange [unsigned 0, unsigned 1, int 2] [];
        SYS_fsync: Fsync [int 0] [];
        SYS_fdatasync: Fdatasync [int 0] [];
        SYS_sync_file_range: SyncFileRange [int 0, word 1, word 2, unsigned 3] [];
        SYS_syncfs: Syncfs [int 0] [];
        SYS_sync: Sync [] [];
        SYS_truncate: Truncate [word 1] [0];
        SYS_ftruncate: Ftruncate [int 0, word 1] [];
        SYS_fallocate: Fallocate [int 0, int 1, word 2, word 3] [];
        SYS_fadvise64: PosixFadvise [int 0, word 1, word 2, int 3] [];
        SYS_readahead: Readahead [int 0, word 1, word 2] [];
        SYS_tee: Tee [int 0, int 1, word 2, unsigned 3] [];
        SYS_getdents: Getdents [int 0, unsigned 2] [];
        SYS_getdents64: Getdents [int 0, unsigned 2] [];
        SYS_dup: Dup [int 0] [];
        SYS_dup2: Dup2 [int 0, int 1] [];
        SYS_dup3: Dup3 [int 0, int 1, int 2] [];
        SYS_flock: Flock [int 0, int 1] [];

        SYS_access: Access [int 1] [0];
        SYS_faccessat: Faccessat [int 0, int 2, constant 0] [1];
        SYS_faccessat2: Faccessat [int 0, int 2, int 3] [1];
        SYS_unlink: Unlink [] [0];
        SYS_unlinkat: Unlinkat [int 0, int 2] [1];
        SYS_rename: Rename [] [0, 1];
        SYS_renameat: Renameat [int 0, int 2, constant 0] [1, 3];
        SYS_renameat2: Renameat [int 0, int 2, unsigned 4] [1, 3];
        SYS_link: Link [] [0, 1];
        SYS_linkat: Linkat [int 0, int 2, int 4] [1, 3];
        SYS_symlink: Symlink [] [0, 1];
        SYS_symlinkat: Symlinkat [int 1] [0, 2];
        SYS_mkdir: Mkdir [unsigned 1] [0];
        SYS_mkdirat: Mkdirat [int 0, unsigned 2] [1];
        SYS_rmdir: Rmdir [] [0];
        SYS_readlink: Readlink [int 2] [0];
        SYS_readlinkat: Readlinkat [int 0, int 3] [1];
        SYS_chdir: Chdir [] [0];
        SYS_fchdir: Fchdir [int 0] [];
        SYS_chroot: Chroot [] [0];
        SYS_chmod: Chmod [unsigned 1] [0];
        SYS_fchmod: Fchmod [int 0, unsigned 1] [];
        SYS_fchmodat: Fchmodat [int 0, unsigned 2, constant 0] [1];
        SYS_fchmodat2: Fchmodat [int 0, unsigned 2, int 3] [1];
        SYS_chown: Chown [int 1, int 2] [0];
        SYS_lchown: Lchown [int 1, int 2] [0];
        SYS_fchown: Fchown [int 0, int 1, int 2] [];
        SYS_fchownat: Fchownat [int 0, int 2, int 3, int 4] [1];
        SYS_utime: Utimensat [constant -100, constant 0] [0];
        SYS_utimes: Utimensat [constant -100, constant 0] [0];
        SYS_futimesat: Utimensat [int 0, constant 0] [1];
        SYS_mknod: Mknod [unsigned 1, unsigned 2] [0];
        SYS_mknodat: Mknodat [int 0, unsigned 2, unsigned 3] [1];
        SYS_statfs: Statfs [] [0];
        SYS_fstatfs: Fstatfs [int 0] [];

        SYS_getxattr: Getxattr [word 3] [0, 1];
        SYS_lgetxattr: Lgetxattr [word 3] [0, 1];
        SYS_fgetxattr: Fgetxattr [int 0, word 3] [1];
        SYS_setxattr: Setxattr [word 3, int 4] [0, 1];
        SYS_lsetxattr: Lsetxattr [word 3, int 4] [0, 1];
        SYS_fsetxattr: Fsetxattr [int 0, word 3, int 4] [1];
        SYS_listxattr: Listxattr [word 2] [0];
        SYS_llistxattr: Llistxattr [word 2] [0];
        SYS_flistxattr: Flistxattr [int 0, word 2] [];
        SYS_removexattr: Removexattr [] [0, 1];
        SYS_lremovexattr: Lremovexattr [] [0, 1];
        SYS_fremovexattr: Fremovexattr [int 0] [1];

        SYS_mlock: Mlock [word 0, word 1, constant 0] [];
        SYS_mlock2: Mlock [word 0, word 1, int 2] [];
        SYS_mlockall: Mlockall [int 0] [];
        SYS_munlock: Munlock [word 0, word 1] [];
        SYS_munlockall: Munlockall [] [];

        SYS_io_destroy: IoDestroy [word 0] [];
        SYS_io_cancel: IoCancel [word 0, word 1] [];
        SYS_io_uring_enter: IoUringEnter [int 0, unsigned 1, unsigned 2, unsigned 3] [];
        SYS_io_uring_register: IoUringRegister [int 0, unsigned 1, unsigned 3] [];

        SYS_listen: Listen [int 0, int 1] [];
        SYS_shutdown: Shutdown [int 0, int 1] [];
        SYS_setsockopt: Setsockopt [int 0, int 1, int 2, int 4] [];
        SYS_getsockopt: Getsockopt [int 0, int 1, int 2] [];

        SYS_epoll_create: EpollCreate [constant 0] [];
        SYS_epoll_create1: EpollCreate [int 0] [];
        SYS_eventfd: Eventfd [unsigned 0, constant 0] [];
        SYS_eventfd2: Eventfd [unsigned 0, int 1] [];
        SYS_timerfd_create: TimerfdCreate [int 0, int 1] [];
        SYS_timerfd_gettime: TimerfdGettime [int 0] [];
        SYS_inotify_init: InotifyInit [constant 0] [];
        SYS_inotify_init1: InotifyInit [int 0] [];
        SYS_inotify_add_watch: InotifyAddWatch [int 0, unsigned 2] [1];
        SYS_inotify_rm_watch: InotifyRmWatch [int 0, int 1] [];
        SYS_pidfd_open: PidfdOpen [int 0, unsigned 1] [];

        SYS_semget: Semget [int 0, int 1, int 2] [];
        SYS_semctl: Semctl [int 0, int 1, int 2] [];
        SYS_shmget: Shmget [int 0, word 1, int 2] [];
        SYS_shmat: Shmat [int 0, int 2] [];
        SYS_shmdt: Shmdt [word 0] [];
        SYS_shmctl: Shmctl [int 0, int 1] [];
        SYS_msgget: Msgget [int 0, int 1] [];
        SYS_msgsnd: Msgsnd [int 0, word 2, int 3] [];
        SYS_msgrcv: Msgrcv [int 0, word 2, word 3, int 4] [];
        SYS_msgctl: Msgctl [int 0, int 1] [];
        SYS_mq_unlink: MqUnlink [] [0];

        SYS_fork: Fork [] [];
        SYS_vfork: Vfork [] [];
        SYS_execve: Execve [] [0];
        SYS_execveat: Execve [] [1];
        SYS_exit_group: Exit [int 0] [];
        SYS_kill: Kill [int 0, int 1] [];
        SYS_tkill: PthreadKill [int 0, int 1] [];
        SYS_tgkill: PthreadKill [int 1, int 2] [];
        SYS_rt_sigqueueinfo: Sigqueue [int 0, int 1] [];
        SYS_rt_tgsigqueueinfo: Sigqueue [int 1, int 2] [];
        SYS_pause: Pause [] [];
        SYS_timer_delete: TimerDelete [int 0] [];
    }
    {
        SYS_readv: Readv files::vectored;
        SYS_writev: Writev files::vectored;
        SYS_preadv: Preadv files::vectored;
        SYS_pwritev: Pwritev files::vectored;
        SYS_preadv2: Preadv files::vectored;
        SYS_pwritev2: Pwritev files::vectored;
        SYS_vmsplice: Vmsplice files::vmsplice;
        SYS_open: Open files::open;
        SYS_openat: Openat files::openat;
        SYS_openat2: Openat2 files::openat2;
        SYS_creat: Creat files::creat;
        SYS_memfd_create: MemfdCreate files::memfd_create;
        SYS_pipe: Pipe files::pipe;
        SYS_pipe2: Pipe files::pipe;
        SYS_stat: Stat files::stat;
        SYS_lstat: Lstat files::stat;
        SYS_fstat: Fstat files::fstat;
        SYS_newfstatat: Fstatat files::fstatat;
        SYS_statx: Statx files::statx;
        SYS_utimensat: Utimensat files::utimensat;
        SYS_fcntl: Fcntl files::fcntl;
        SYS_sendfile: Sendfile files::sendfile;
        SYS_splice: Splice files::between;
        SYS_copy_file_range: CopyFileRange files::between;
        SYS_ioctl: Ioctl files::ioctl;
        SYS_mmap: Mmap files::mmap;
        SYS_munmap: Munmap files::of_mapping;
        SYS_msync: Msync files::of_mapping;
        SYS_madvise: Madvise files::of_mapping;
        SYS_mincore: Mincore files::of_mapping;
        SYS_mremap: Mremap files::of_mapping;

        SYS_io_setup: IoSetup asynchronous::io_setup;
        SYS_io_submit: IoSubmit asynchronous::io_submit;
        SYS_io_getevents: IoGetevents asynchronous::io_getevents;
        SYS_io_pgetevents: IoGetevents asynchronous::io_getevents;
        SYS_io_uring_setup: IoUringSetup asynchronous::io_uring_setup;

        SYS_socket: Socket sockets::socket;
        SYS_socketpair: Socketpair sockets::socketpair;
        SYS_bind: Bind sockets::bind;
        SYS_accept: Accept sockets::accept;
        SYS_accept4: Accept sockets::accept;
        SYS_connect: Connect sockets::connect;
        SYS_getsockname: Getsockname sockets::name;
        SYS_getpeername: Getpeername sockets::name;
        SYS_sendto: Sendto sockets::sendto;
        SYS_recvfrom: Recvfrom sockets::recvfrom;
        SYS_sendmsg: Sendmsg sockets::message;
        SYS_recvmsg: Recvmsg sockets::message;
        SYS_sendmmsg: Sendmmsg sockets::messages;
        SYS_recvmmsg: Recvmmsg sockets::messages;

        SYS_poll: Poll waiting::poll;
        SYS_ppoll: Poll waiting::poll;
        SYS_select: Select waiting::select;
        SYS_pselect6: Select waiting::select;
        SYS_epoll_wait: EpollWait waiting::epoll_wait;
        SYS_epoll_pwait: EpollWait waiting::epoll_wait;
        SYS_epoll_pwait2: EpollWait waiting::epoll_wait;
        SYS_epoll_ctl: EpollCtl waiting::epoll_ctl;
        SYS_futex: Futex waiting::futex;
        SYS_nanosleep: Nanosleep waiting::nanosleep;
        SYS_clock_nanosleep: ClockNanosleep waiting::clock_nanosleep;
        SYS_semop: Semop waiting::semop;
        SYS_semtimedop: Semop waiting::semop;
        SYS_rt_sigtimedwait: Sigwait waiting::sigwait;
        SYS_rt_sigsuspend: Sigsuspend waiting::sigsuspend;

        SYS_signalfd: Signalfd others::signalfd;
        SYS_signalfd4: Signalfd others::signalfd;
        SYS_timerfd_settime: TimerfdSettime others::timer;
        SYS_timer_settime: TimerSettime others::timer;
        SYS_timer_create: TimerCreate others::timer_create;
        SYS_setitimer: Setitimer others::setitimer;
        SYS_alarm: Alarm others::alarm;
        SYS_pidfd_getfd: PidfdGetfd others::pidfd_getfd;
        SYS_mq_open: MqOpen others::mq_open;
        SYS_mq_timedsend: MqSend others::mq_timedsend;
        SYS_mq_timedreceive: MqReceive others::mq_timedreceive;
        SYS_rt_sigaction: Sigaction others::sigaction;
        SYS_clone: Clone others::clone;
        SYS_clone3: Clone others::clone;
        SYS_wait4: Waitpid others::wait4;
        SYS_waitid: Waitid others::waitid;
        SYS_exit: ThreadEnd others::nothing;
        SYS_restart_syscall: Syscall others::nothing;
    }
}
