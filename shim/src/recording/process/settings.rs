//! The environment, read once at start: whether to record, and into which folder.
//!
//! | variable | meaning |
//! |---|---|
//! | `SYN_OFF` | set to anything but `0` or nothing: do not record |
//! | `SYN_RUN` | the run folder; made if it is missing; if an earlier run is in it, `-2`, `-3`, … is appended, or the job's id |
//! | `SYN_ONLY` | programs to record, separated by colons: file names, absolute paths, or folders ending in `/`; of others process creation alone |
//! | `SYN_EXCEPT` | programs of which process creation alone is recorded, in the same form |
//! | `SYN_DETOURS` | `0`: leave libc's code as it is; streams are then recorded at `fread`, `fwrite` |
//! | `SYN_THROTTLE` | set by `syn record --throttle`: the run folder has a board for this host |
//! | `SYN_JOB` | set by the first process of a job for its children: the absolute run folder |

use crate::core::procfs::decimal;
use crate::core::{stack_start, sys};
use crate::recording::process::run_folder::{self, FOLDER_BYTES};
use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use syn_trace::policy::{Choice, Policy};

/// What the environment says.
pub struct Decision {
    /// Record at all.
    pub record: bool,
    /// How much.
    pub policy: Policy,
    /// Bytes of the run folder's absolute path.
    pub folder_length: usize,
}

/// The entry for the children that [`export`] is to put into the environment once libc has one.
static TO_EXPORT: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());

unsafe extern "C" {
    static mut environ: *const *const c_char;
}

/// The program's arguments, and how many there are; none until the constructor has been called with them.
static ARGUMENTS: AtomicPtr<*const c_char> = AtomicPtr::new(core::ptr::null_mut());
static ARGUMENT_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Where the first one begins, and the last one has ended, if they lie one behind the other in so many bytes.
const MOST_ARGUMENT_BYTES: usize = 4096;
static FIRST_ARGUMENT: AtomicUsize = AtomicUsize::new(0);
static ARGUMENTS_END: AtomicUsize = AtomicUsize::new(0);

/// Called by the constructor with what the loader passes.
pub fn note_arguments(count: c_int, arguments: *const *const c_char) {
    ARGUMENT_COUNT.store(count.max(0) as usize, Ordering::Relaxed);
    ARGUMENTS.store(arguments.cast_mut(), Ordering::Relaxed);
    let Some(all) = self::arguments() else { return };
    let (mut start, mut end) = (0, 0);
    for argument in all {
        let at = argument.as_ptr() as usize;
        if start == 0 {
            (start, end) = (at, at);
        }
        // A loader that was told another name (`ld.so --argv0`) has put that one elsewhere.
        if at != end || end - start > MOST_ARGUMENT_BYTES {
            return;
        }
        end = at + argument.len() + 1;
    }
    FIRST_ARGUMENT.store(start, Ordering::Relaxed);
    ARGUMENTS_END.store(end, Ordering::Relaxed);
}

/// The program's arguments, as far as they are known. To be called before `main`, which may change them.
pub fn arguments() -> Option<impl Iterator<Item = &'static [u8]>> {
    let first = ARGUMENTS.load(Ordering::Relaxed).cast_const();
    // SAFETY: the loader passes an array of so many strings, and before `main` nobody has changed it.
    let all = unsafe { core::slice::from_raw_parts(first.as_ref()?, ARGUMENT_COUNT.load(Ordering::Relaxed)) };
    // SAFETY: as above.
    Some(
        all.iter()
            .take_while(|text| !text.is_null())
            .map(|&text| unsafe { stack_start::string_at(text) }.to_bytes()),
    )
}

/// The memory in which the arguments have been since the start, one behind the other, each with its final zero, as it is now.
/// `None`: not known, or longer than it was, by what a program has written to be seen by another name (`proc_pid_cmdline(5)`).
pub fn argument_memory() -> Option<&'static [u8]> {
    let (start, end) = (FIRST_ARGUMENT.load(Ordering::Relaxed), ARGUMENTS_END.load(Ordering::Relaxed));
    if start == 0 {
        return None;
    }
    // SAFETY: it lies at the bottom of the first thread's stack, which stays for as long as the process.
    let memory = unsafe { core::slice::from_raw_parts(start as *const u8, end.checked_sub(start)?) };
    (memory.last() == Some(&0)).then_some(memory)
}

/// False when the user does not want libc's code to be touched.
pub fn wants_detours() -> bool {
    variable(b"SYN_DETOURS") != Some(b"0")
}

/// Decides. `program` is asked, unless all is off, for the path of the program's file, and for [`FOLDER_BYTES`] of room, in which
/// the absolute path of the run folder is left.
pub fn decide(program: impl FnOnce() -> (&'static [u8], &'static mut [u8])) -> Decision {
    let mut decision = Decision { record: false, policy: Policy::Everything, folder_length: 0 };
    let choice = Choice::of(variable);
    if choice.is_off() {
        return decision;
    }
    let (program, folder) = program();
    decision.policy = choice.policy(program);
    if let Some(job) =
        variable(b"SYN_JOB").filter(|job| job.starts_with(b"/") && job.len() < FOLDER_BYTES - 80)
    {
        folder[..job.len()].copy_from_slice(job);
        decision.folder_length = job.len();
        decision.record = true;
        return decision;
    }
    let is_launcher = decision.policy == Policy::OfLauncher;
    let (length, made) = run_folder::make(variable, is_launcher, folder);
    match made {
        Ok(()) => {
            decision.folder_length = length;
            decision.record = true;
            keep_for_export(&[b"SYN_JOB=", &folder[..decision.folder_length]]);
        }
        Err(error) => {
            let mut digits = [0; 20];
            let number = decimal(error.unsigned_abs() as u64, &mut digits);
            sys::complain(&[
                b"syn: cannot make the run folder ",
                &folder[..length],
                b" (errno ",
                number,
                b"); the program runs unrecorded. Set SYN_RUN to a writable folder.\n",
            ]);
            // The children would only say the same again.
            keep_for_export(&[b"SYN_OFF=1"]);
        }
    }
    decision
}

/// Whether somebody may be throttled in this job: its environment says so, or it does not reach this process, which has come to
/// the run folder by itself.
pub fn may_be_throttled() -> bool {
    variable(syn_trace::board::VARIABLE.as_bytes()).is_some() || variable(b"SYN_JOB").is_none()
}

/// This process's rank, as far as its launcher tells before `MPI_Init` does.
pub fn rank() -> Option<u32> {
    let names: [&[u8]; 5] = [b"OMPI_COMM_WORLD_RANK", b"PMIX_RANK", b"PMI_RANK", b"PMI_ID", b"SLURM_PROCID"];
    let number = |name: &[u8]| core::str::from_utf8(variable(name)?).ok()?.parse().ok();
    names.into_iter().find_map(number)
}

/// The value of an environment variable.
fn variable(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: entries are strings that stay.
    entries().find_map(|entry| unsafe { stack_start::value_at(entry, name) })
}

/// The same as the process was started with: that stays where it is, whoever changes the environment.
pub fn variable_at_start(name: &[u8]) -> Option<&'static [u8]> {
    // SAFETY: null or an array of strings that ends with null; neither is ever freed.
    unsafe { of(stack_start::environment()).find_map(|entry| stack_start::value_at(entry, name)) }
}

/// Before libc's constructor has run, it has none yet.
fn entries() -> impl Iterator<Item = *const c_char> {
    // SAFETY: each is null or an array of strings that ends with null; nobody changes it while we start.
    unsafe { of(if environ.is_null() { stack_start::environment() } else { environ }) }
}

/// # Safety
/// `at` is null or an array of strings that ends with null, and stays so.
unsafe fn of(mut at: *const *const c_char) -> impl Iterator<Item = *const c_char> {
    // SAFETY: as the caller vouches.
    unsafe {
        core::iter::from_fn(move || {
            if at.is_null() || (*at).is_null() {
                return None;
            }
            let entry = *at;
            at = at.add(1);
            Some(entry)
        })
    }
}

/// Prepares an entry for the environment of this process and so of its children.
fn keep_for_export(parts: &[&[u8]]) {
    let bytes: usize = parts.iter().map(|part| part.len()).sum::<usize>() + 1;
    let Some(text) = sys::map_anonymous(bytes) else { return };
    let mut at = text;
    for part in parts {
        // SAFETY: the mapping is as long as all parts and a final zero.
        unsafe {
            core::ptr::copy_nonoverlapping(part.as_ptr(), at, part.len());
            at = at.add(part.len());
        }
    }
    TO_EXPORT.store(text.cast(), Ordering::Relaxed);
}

/// In the environment of a process, the mark that [`crate::recording::environment`] has added to it; what follows is the entry
/// of `LD_PRELOAD` that was there, if there was one.
pub const ADDED: &[u8] = b"SYN_ADDED=";
const ADDED_NAME: &[u8] = ADDED.split_at(ADDED.len() - 1).0;

/// Puts the prepared entry into the environment, or takes out what a parent has added to it, without the allocator: into
/// a copy of the array, in memory of our own. Called when libc has set its environment up, and before `main`.
pub fn export() {
    let new = TO_EXPORT.swap(core::ptr::null_mut(), Ordering::Relaxed);
    let added = variable(ADDED_NAME);
    if new.is_null() && added.is_none() {
        return;
    }
    let count = entries().count();
    let Some(memory) = sys::map_anonymous((count + 2) * size_of::<*const c_char>()) else { return };
    let array: *mut *const c_char = memory.cast();
    let mut kept = 0;
    let mut put = |entry: *const c_char| {
        // SAFETY: the mapping holds the array, one new entry and a final null.
        unsafe { array.add(kept).write(entry) };
        kept += 1;
    };
    let of_ours = |entry: *const c_char| {
        // SAFETY: entries are strings that stay.
        [&b"LD_PRELOAD"[..], b"SYN_JOB", ADDED_NAME]
            .iter()
            .any(|name| unsafe { stack_start::value_at(entry, name) }.is_some())
    };
    for entry in entries().filter(|&entry| added.is_none() || !of_ours(entry)) {
        put(entry);
    }
    match added {
        Some(preload) if !preload.is_empty() => put(preload.as_ptr().cast()),
        Some(_) => {}
        None => put(new),
    }
    // SAFETY: the rest of the array is zero, and so it ends with null; libc copes with any array (its own functions
    // copy one that they did not make).
    unsafe { environ = array };
}
