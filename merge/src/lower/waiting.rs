//! Which calls wait.

use syn_trace::Call;

/// True when the time that a call spends without the processor is waiting: for another process or thread, for a
/// device, or for time to pass. In any other call the thread was preempted, which a replay is by itself.
pub fn may_wait(call: Call) -> bool {
    on_descriptors(call) || on_others(call) || super::calls::is_sleep(call)
}

/// Transfers, locks on files, and waiting for descriptors to become ready.
fn on_descriptors(call: Call) -> bool {
    matches!(
        call,
        Call::Read
            | Call::Write
            | Call::Pread
            | Call::Pwrite
            | Call::Readv
            | Call::Writev
            | Call::Preadv
            | Call::Pwritev
            | Call::CopyFileRange
            | Call::Sendfile
            | Call::Splice
            | Call::CloneRange
            | Call::Tee
            | Call::Vmsplice
            | Call::Open
            | Call::Openat
            | Call::Openat2
            | Call::Fopen
            | Call::Fread
            | Call::Fwrite
            | Call::Fflush
            | Call::Fclose
            | Call::Fcntl
            | Call::Flock
            | Call::Lockf
            | Call::Msync
            | Call::Send
            | Call::Recv
            | Call::Sendto
            | Call::Recvfrom
            | Call::Sendmsg
            | Call::Recvmsg
            | Call::Sendmmsg
            | Call::Recvmmsg
            | Call::Accept
            | Call::Connect
            | Call::Poll
            | Call::EpollWait
            | Call::Select
            | Call::AioSuspend
            | Call::IoGetevents
            | Call::IoUringEnter
            | Call::LioListio
            | Call::MqSend
            | Call::MqReceive
    )
}

/// Waiting for processes, threads and signals.
fn on_others(call: Call) -> bool {
    matches!(
        call,
        Call::Vfork
            | Call::System
            | Call::Pclose
            | Call::Waitpid
            | Call::Waitid
            | Call::PthreadJoin
            | Call::MutexLock
            | Call::MutexTimedlock
            | Call::CondWait
            | Call::CondTimedwait
            | Call::SemWait
            | Call::SemTimedwait
            | Call::RwlockRdlock
            | Call::RwlockWrlock
            | Call::BarrierWait
            | Call::Futex
            | Call::Semop
            | Call::Msgsnd
            | Call::Msgrcv
            | Call::Pause
            | Call::Sigsuspend
            | Call::Sigwait
    )
}
