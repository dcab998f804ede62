//! The allowed differences: what the kernel sees and the trace does not hold. Whatever else differs is a fault of the
//! recorder.

use tests::strace::{Caller, Maker, Syscall};
use tests::workloads::LAUNCHERS;

/// Calls that only strace may see.
pub struct Allowed {
    /// Which.
    pub is: fn(&Caller, &Syscall) -> bool,
    /// Why.
    pub because: &'static str,
}

/// All of them, at most ten.
pub const ALLOWED: [Allowed; 6] = [
    Allowed {
        because: "the shim's own: it sets itself up and grows its files, in every process, on a thread of its own where \
                  others share the descriptors; processes it makes for the program only, by vfork(2)",
        is: |caller, call| {
            caller.maker(call) == Maker::Shim && call.made_thread().is_none_or(|made| made.is_thread)
        },
    },
    Allowed {
        because: "the dynamic loader's own: it finds and maps libraries by system calls in its own code, before the shim is \
                  there as well as in dlopen(3)",
        is: |caller, call| caller.maker(call) == Maker::Loader,
    },
    Allowed {
        because: "by an instruction of the program's own, past libc and all other libraries (fio's for io_uring): a preloaded \
                  library is not asked; programs that do nothing else are for the other recorder",
        is: |caller, call| caller.is_past_libraries(call),
    },
    Allowed {
        because: "a child of vfork(2) or posix_spawn(3) until it becomes a program: it runs in its parent's memory, \
                  where it must not write; what it changed is on record when its program begins",
        is: |caller, call| caller.borrows_memory && !has_become_program(call),
    },
    Allowed {
        because: "launchers: of them only process creation is recorded",
        is: |caller, call| is_launcher(caller) && !is_about_processes(call),
    },
    Allowed {
        because: "programs that could not be executed: execvp(3) and posix_spawnp(3) try the folders of PATH one after the \
                  other, in one call; which programs began is compared",
        is: |_, call| matches!(call.name.as_str(), "execve" | "execveat") && call.result != 0,
    },
];

fn has_become_program(call: &Syscall) -> bool {
    matches!(call.name.as_str(), "execve" | "execveat") && call.result == 0
}

fn is_launcher(caller: &Caller) -> bool {
    let name = caller.program.file_name().unwrap_or_default();
    LAUNCHERS.iter().any(|launcher| name == *launcher)
}

fn is_about_processes(call: &Syscall) -> bool {
    let names = ["execve", "execveat", "exit_group", "wait4", "waitid"];
    call.made_thread().is_some() || names.contains(&call.name.as_str())
}
