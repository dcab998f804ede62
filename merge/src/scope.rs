//! Which files are part of a plan: the storage that the application works on.

/// Folders of the system: what is read there is the same on every machine that can run the application.
const SYSTEM: [&str; 11] =
    ["/run", "/etc", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/opt", "/var/lib"];
/// Folders that are no storage at all.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// The file system in memory, which is storage like any other, but also where libraries share memory.
const SHARED_MEMORY: &str = "/dev/shm/";
/// Beginnings of the names under which they do.
const SEGMENTS: [&str; 10] =
    ["vader_segment", "sm_segment", "osc_", "open_mpi", "mpich", "psm", "ucx", "Intel_MPI", "impi", "sem."];
/// Beginnings of the names of folders in which MPI implementations keep what their processes share.
const MPI_SESSIONS: [&str; 4] = ["ompi.", "openmpi-sessions", "pmix-", "prte."];

/// Decides by path.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// Also take what lies in the folders of the system.
    pub all_files: bool,
}

impl Scope {
    /// Whether the file at this absolute path is part of the plan.
    pub fn contains(self, path: &str) -> bool {
        let is_below = |folder: &&str| {
            path.strip_prefix(*folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        // The kernel names files like this that have no name any more.
        let nameless =
            path.len() <= 1 || !path.starts_with('/') || path.contains('\0') || path.ends_with(" (deleted)");
        let in_memory = path.strip_prefix(SHARED_MEMORY);
        if nameless || in_memory.is_none() && KERNEL.iter().any(is_below) {
            return false;
        }
        let segment = in_memory.is_some_and(|name| SEGMENTS.iter().any(|start| name.starts_with(start)));
        let session = |part: &str| MPI_SESSIONS.iter().any(|name| part.starts_with(name));
        self.all_files || !(segment || SYSTEM.iter().any(is_below) || path.split('/').any(session))
    }

    /// Whether an open file of this type is: regular files, and directories, which can be listed and synced.
    pub fn contains_type(st_mode: u32) -> bool {
        let kind = st_mode & libc::S_IFMT;
        kind == libc::S_IFREG || kind == libc::S_IFDIR || st_mode == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    #[test]
    fn the_application_s_files_are_taken() {
        let usual = Scope { all_files: false };
        for path in [
            "/home/u/in.melt",
            "/scratch/etc/x",
            "/usrlocal/x",
            "/tmp/dump",
            "/library/x",
            "/dev/shm/run/x",
            "/dev/shm/run/dump",
        ] {
            assert!(usual.contains(path), "{path}");
        }
        let left_out = [
            "/",
            "pipe:[7]",
            "/proc/self/maps",
            "/usr/lib/x.so",
            "/etc",
            "/tmp/ompi.h.0/pid.1/x",
            "/x (deleted)",
            "/dev/shm",
            "/dev/shm/vader_segment.h.1",
        ];
        for path in left_out {
            assert!(!usual.contains(path), "{path}");
        }
    }

    #[test]
    fn all_files_leaves_out_only_what_is_none() {
        let all = Scope { all_files: true };
        assert!(
            all.contains("/usr/lib/x.so") && all.contains("/run/user/x") && all.contains("/dev/shm/sem.x")
        );
        assert!(!all.contains("/dev/null") && !all.contains("/proc/1/stat"));
    }
}
