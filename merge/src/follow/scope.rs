//! Which files are part of a plan: the storage that the application works on.
//!
//! That is every file but those of the system that are only read, and those that are no storage or belong to MPI; or what lies
//! below some folders, where only these are to be on the storage that a replay uses.

use std::collections::HashSet;
use std::rc::Rc;
use syn_plan::{MAX_NAME, MAX_PATH};
use syn_trace::folders;
use syn_trace::status::DELETED;

/// Folders that are no storage at all.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// The file system in memory, which is storage like any other, but also where libraries share memory.
const SHARED_MEMORY: &str = "/dev/shm/";
/// Beginnings of the names under which those of MPI do.
const SEGMENTS: [&str; 9] =
    ["vader_segment", "sm_segment", "osc_", "open_mpi", "mpich", "psm", "ucx", "Intel_MPI", "impi"];
/// What libc keeps a semaphore in (sem_overview(7)).
const SEMAPHORE: &str = "/dev/shm/sem.";
/// Beginnings of the names of folders in which MPI implementations keep what their processes share.
const MPI_SESSIONS: [&str; 4] = ["ompi.", "openmpi-sessions", "pmix-", "prte."];

/// What the application changed: paths by the calls that were seen.
pub type Changed = HashSet<Rc<str>>;

/// Decides by path.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Also take what lies in the folders of the system, and what MPI keeps for itself.
    pub all_files: bool,
    /// Take what lies in these folders, whatever they are, and nothing else; if there are any.
    pub only: Rc<[String]>,
    /// There is MPI in the run: what has the names that it uses is its own.
    pub has_mpi: bool,
    /// What is taken although it lies in a folder of the system: the application wrote, made, renamed, removed or linked it.
    pub changed: Rc<Changed>,
}

impl Scope {
    /// Whether the file at this absolute path is part of the plan.
    pub fn contains(&self, path: &str) -> bool {
        let taken = match &*self.only {
            [] => self.all_files || !is_of_system(path) || self.changed.contains(path),
            _ => !self.is_elsewhere(path),
        };
        taken && self.could_contain(path)
    }

    /// Whether it lies in none of the folders that alone are taken.
    pub fn is_elsewhere(&self, path: &str) -> bool {
        !self.only.is_empty() && !self.only.iter().any(|folder| below(folder, path).is_some())
    }

    /// Whether it is, if the application changes it.
    pub fn could_contain(&self, path: &str) -> bool {
        // The kernel names files like this that have no name any more.
        let nameless =
            path.len() <= 1 || !path.starts_with('/') || path.contains('\0') || path.ends_with(DELETED);
        let in_memory = path.strip_prefix(SHARED_MEMORY);
        if nameless || in_memory.is_none() && is_below(&KERNEL, path) || !can_be_made(path) {
            return false;
        }
        self.all_files || !(path.starts_with(SEMAPHORE) || self.has_mpi && is_of_mpi(path))
    }

    /// Whether an open file of this type is: regular files, and directories, which can be listed and synced.
    pub fn contains_type(st_mode: u32) -> bool {
        let kind = st_mode & libc::S_IFMT;
        kind == libc::S_IFREG || kind == libc::S_IFDIR || st_mode == 0
    }
}

/// Whether the path has a name that MPI implementations use for what their processes share.
pub fn is_of_mpi(path: &str) -> bool {
    let segment = |name: &str| SEGMENTS.iter().any(|start| name.starts_with(start));
    let session = |part: &str| MPI_SESSIONS.iter().any(|name| part.starts_with(name));
    path.strip_prefix(SHARED_MEMORY).is_some_and(segment) || path.split('/').any(session)
}

/// Whether the path lies in a folder of the system.
pub fn is_of_system(path: &str) -> bool {
    folders::is_of_system(path.as_bytes())
}

/// Whether it is the name of a file that was removed while it was open.
pub fn is_deleted(path: &str) -> bool {
    path.ends_with(DELETED)
}

fn is_below(folders: &[&str], path: &str) -> bool {
    folders.iter().any(|folder| below(folder, path).is_some())
}

/// What comes behind a folder in a path: nothing for the folder itself, else a slash and names; `None` where the path is elsewhere.
pub fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Calls on longer names fail before they reach a storage; and names that are not UTF-8 are longer in a plan.
pub fn can_be_made(path: &str) -> bool {
    path.len() <= MAX_PATH && path.split('/').all(|name| name.len() <= MAX_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_application_s_files_are_taken() {
        let usual = Scope { has_mpi: true, ..Scope::default() };
        for path in [
            "/home/u/in.melt",
            "/scratch/etc/x",
            "/usrlocal/x",
            "/tmp/dump",
            "/library/x",
            "/dev/shm/run/x",
            "/dev/shm/run/dump",
            "/opt/app/data",
            "/var/lib/postgresql/base",
            "/root/x",
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
        assert!(!usual.contains(&format!("/w/{}", "x".repeat(256))));
        // Without MPI these are names like any other.
        for path in ["/tmp/ompi.results/x", "/dev/shm/osc_results"] {
            assert!(Scope::default().contains(path) && !usual.contains(path), "{path}");
        }
        assert!(!Scope::default().contains("/dev/shm/sem.x"));
    }

    #[test]
    fn what_the_application_changes_is_taken_wherever_it_lies() {
        let changed = ["/etc/app.conf", "/dev/null", "/dev/shm/vader_segment.h.1"].map(Rc::from);
        let scope = Scope { has_mpi: true, changed: Rc::new(changed.into()), ..Scope::default() };
        assert!(scope.contains("/etc/app.conf") && !scope.contains("/etc/passwd"));
        assert!(!scope.contains("/dev/null") && !scope.contains("/dev/shm/vader_segment.h.1"));
    }

    #[test]
    fn of_some_folders_all_is_taken() {
        let only = ["/data/in".to_owned(), "/usr/share/app".to_owned()];
        let changed = Rc::new([Rc::from("/etc/app.conf")].into());
        let scope = Scope { only: only.into(), changed, ..Scope::default() };
        for path in ["/data/in", "/data/in/a/b", "/usr/share/app/x"] {
            assert!(scope.contains(path) && !scope.is_elsewhere(path), "{path}");
        }
        for path in ["/data", "/data/inner", "/tmp/x", "/usr/share/other", "/etc/app.conf"] {
            assert!(!scope.contains(path) && scope.is_elsewhere(path), "{path}");
        }
        assert!(!Scope::default().is_elsewhere("/tmp/x"));
    }

    #[test]
    fn all_files_leaves_out_only_what_is_none() {
        let all = Scope { all_files: true, ..Scope::default() };
        assert!(
            all.contains("/usr/lib/x.so") && all.contains("/run/user/x") && all.contains("/dev/shm/sem.x")
        );
        assert!(!all.contains("/dev/null") && !all.contains("/proc/1/stat"));
    }
}
