//! The built library against the table of calls and against libc: no hook was lost on the way into it, and no twin of a
//! hooked function (`f64`, `__f`, `__f_chk` …) forgotten, through which a program's calls would pass unseen.

use object::elf::{FileHeader64, SHT_DYNSYM, STB_LOCAL, STT_FUNC, STT_GNU_IFUNC, VERSYM_HIDDEN};
use object::read::elf::{ElfFile64, FileHeader, Rela, SectionHeader, Sym};
use object::{LittleEndian, SymbolIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn_trace::Call;
use syn_trace::calls::Fact;
use tests::shim;

const ENDIAN: LittleEndian = LittleEndian;

/// Functions of libaio and liburing that are not hooked, each with its reason.
const OF_LIBRARIES: [(&str, &[&str]); 3] = [
    (
        "goes through others of its library",
        &[
            "io_queue_init",
            "io_queue_release",
            "io_queue_run",
            "io_queue_wait",
            "io_uring_get_probe",
            "io_uring_get_probe_ring",
        ],
    ),
    (
        "calls the kernel for nothing but memory, or not at all",
        &[
            "io_uring_free_probe",
            "io_uring_get_sqe",
            "io_uring_memory_size",
            "io_uring_memory_size_params",
            "io_uring_mlock_size",
            "io_uring_mlock_size_params",
            "io_uring_register_wait_reg",
            "io_uring_ring_dontfork",
            "io_uring_set_iowait",
        ],
    ),
    (
        "makes no system call that has a record",
        &["io_uring_major_version", "io_uring_minor_version", "io_uring_check_version"],
    ),
];

/// In the table of calls, and no calls: what goes through queues in memory.
const ENTRIES: [&str; 3] = ["iocb", "sqe", "cqe"];

/// Exported for another purpose than recording.
const NOT_RECORDED: [(&str, &str); 26] = [
    ("longjmp", "tells which calls will never return"),
    ("_longjmp", "as above"),
    ("siglongjmp", "as above"),
    ("__longjmp_chk", "as above"),
    ("mprotect", "tells which mapped files can be written to, for the record of the pages touched"),
    ("pkey_mprotect", "as above"),
    ("io_uring_queue_mmap", "tells where the queues of a ring lie"),
    (
        "__libc_start_main",
        "the moment at which libc has an environment, into which the run folder's name is put",
    ),
    ("dlclose", "tells which pages of a library have been touched, and that it is mapped no more"),
    ("prctl", "seccomp ends the system calls that the recorder may make"),
    ("setuid", "the trace grows ahead, since another user may not open its file"),
    ("seteuid", "as above"),
    ("setreuid", "as above"),
    ("setresuid", "as above"),
    ("setfsuid", "as above"),
    ("setgid", "the trace grows ahead, since only a group may get to the run folder"),
    ("setegid", "as above"),
    ("setregid", "as above"),
    ("setresgid", "as above"),
    ("setfsgid", "as above"),
    ("setgroups", "as above"),
    ("initgroups", "as above"),
    ("capset", "the trace grows ahead, since capabilities may be what opens the run folder"),
    ("unshare", "as above, of a user namespace"),
    ("setns", "the trace grows ahead, since the run folder may not be there in another namespace"),
    ("pivot_root", "as above, below another root"),
];

/// Calls that libc has no function for: they are made by number, through `syscall`, or seen by ptrace; or by a request of
/// another one.
const NO_FUNCTIONS: [&str; 4] = ["futex", "openat2", "ioctl_ficlonerange", "ioctl_tiocgptn"];

/// What becomes of every procedure of MPI.
const COVERAGE: &str = include_str!("../../mpi-wrap/COVERAGE.md");

/// Twins that exist in libc and are not hooked, each with its reason.
const SKIPPED: [(&str, &str); 0] = [];

/// Hooked functions that code in the library calls by name, and why that does no harm.
const CALLED: [(&str, &[&str]); 5] = [
    ("__vfork is another name of this one, and goes on to it", &["vfork"]),
    ("execl, execlp and execle gather their list and go on to these", &["execv", "execvp", "execve"]),
    (
        "Rust's standard library prints panics and backtraces with these; the shim does not panic",
        &[
            "close", "fstat64", "lseek64", "mmap64", "open64", "read", "readlink", "stat64", "statx",
            "syscall", "write", "writev",
        ],
    ),
    (
        "calls made by number through `syscall` go on to these, which do the same",
        &["_exit", "execveat", "madvise", "mincore", "mmap", "mremap", "msync", "munmap", "prctl"],
    ),
    (
        "what unwinds stacks, from the compiler's own library, has a lock; Rust's standard library ends in the other",
        &["abort", "pthread_mutex_lock", "pthread_mutex_unlock"],
    ),
];

/// What a library has in its dynamic symbol table.
struct Symbols {
    /// Functions that others can link against.
    defined: BTreeSet<String>,
    /// Those of them that the library itself calls through its table, so that they may be another library's.
    called_by_itself: BTreeSet<String>,
}

impl Symbols {
    fn of(path: &Path) -> Symbols {
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
        let file: ElfFile64<'_, LittleEndian> =
            ElfFile64::parse(&*bytes).unwrap_or_else(|e| panic!("{} is no ELF file: {e}", path.display()));
        let header: &FileHeader64<LittleEndian> = file.elf_header();
        let sections = header.sections(ENDIAN, &*bytes).expect("sections");
        let symbols = sections.symbols(ENDIAN, &*bytes, SHT_DYNSYM).expect("a dynamic symbol table");
        let versions = sections.versions(ENDIAN, &*bytes).expect("a version table");
        let name_of = |symbol: &_| -> String {
            String::from_utf8_lossy(symbols.symbol_name(ENDIAN, symbol).expect("a name")).into_owned()
        };
        let mut defined = BTreeSet::new();
        for (index, symbol) in symbols.enumerate() {
            let is_function = [STT_FUNC, STT_GNU_IFUNC].contains(&symbol.st_type());
            let version = versions.as_ref().map(|table| table.version_index(ENDIAN, index));
            let is_default =
                version.is_none_or(|version| version.0 & VERSYM_HIDDEN == 0 && version.index() != 0);
            let of_libc_alone = versions.as_ref().zip(version).is_some_and(|(table, version)| {
                let named = table.version(version).ok().flatten();
                named.is_some_and(|named| named.name() == b"GLIBC_PRIVATE")
            });
            if is_function
                && is_default
                && !of_libc_alone
                && !symbol.is_undefined(ENDIAN)
                && symbol.st_bind() != STB_LOCAL
            {
                defined.insert(name_of(symbol));
            }
        }
        let mut called_by_itself = BTreeSet::new();
        for section in sections.iter() {
            let Some((relocations, _)) = section.rela(ENDIAN, &*bytes).expect("relocations") else {
                continue;
            };
            for relocation in relocations {
                let index: Option<SymbolIndex> = relocation.symbol(ENDIAN, false);
                let symbol = index.map(|index| symbols.symbol(index).expect("the symbol of a relocation"));
                called_by_itself.extend(symbol.filter(|symbol| !symbol.is_undefined(ENDIAN)).map(name_of));
            }
        }
        Symbols { defined, called_by_itself }
    }

    fn has(&self, name: &str) -> bool {
        self.defined.contains(name)
    }
}

/// The libc that this test runs with, which is also the one of the test programs.
fn libc() -> Symbols {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the mappings of this process");
    let paths = maps.lines().filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..])));
    let found = paths.into_iter().find(|path| path.file_name().is_some_and(|name| name == "libc.so.6"));
    Symbols::of(&found.expect("this test is linked against libc.so.6"))
}

/// `f` of `f64`, `__f`, `__f_chk`, `__f64_chk`, `__f_2`, `f2` and the like.
fn plain(name: &str) -> String {
    let name = name.strip_prefix("__").unwrap_or(name);
    let name = name.strip_suffix("_chk").or_else(|| name.strip_suffix("_2")).unwrap_or(name);
    let name = name.replace("64v2", "").replace("64", "");
    name.strip_suffix("v2").map_or(name.clone(), |name| format!("{name}v"))
}

fn twins(name: &str) -> [String; 8] {
    [
        format!("{name}64"),
        format!("__{name}"),
        format!("__{name}64"),
        format!("__{name}_chk"),
        format!("__{name}64_chk"),
        format!("__{name}_2"),
        format!("__{name}64_2"),
        format!("__libc_{name}"),
    ]
}

fn hooked() -> (Symbols, BTreeSet<String>) {
    let shim = Symbols::of(&shim());
    let not_recorded: Vec<&str> = NOT_RECORDED.iter().map(|(name, _)| *name).collect();
    let of_libc = |name: &&String| {
        !name.to_ascii_lowercase().starts_with("mpi_") && !not_recorded.contains(&name.as_str())
    };
    let names = shim.defined.iter().filter(of_libc).cloned().collect();
    (shim, names)
}

/// The call under whose name a hooked function is recorded.
fn recorded_as(name: &str) -> Option<Call> {
    let name = plain(name);
    // What registers something with an io_uring is told by its name.
    let registers =
        ["io_uring_register_", "io_uring_unregister_"].iter().any(|start| name.starts_with(start));
    let name = if registers { "io_uring_register" } else { &name };
    let is_other = |call: &&Call| call.info().also.contains(&name);
    Call::from_name(name).or_else(|| Call::ALL.iter().find(is_other).copied())
}

#[test]
fn every_hook_records_a_call_of_the_table() {
    let (_, hooked) = hooked();
    let unknown: Vec<_> = hooked.iter().filter(|name| recorded_as(name).is_none()).collect();
    assert!(unknown.is_empty(), "exported, and not in the table of calls: {unknown:?}");
    for name in Call::ALL.iter().filter(|call| !call.layer().is_mpi()).flat_map(|call| call.info().also) {
        assert!(hooked.iter().any(|hooked| plain(hooked) == *name), "{name} is not hooked any more");
    }
}

#[test]
fn every_call_of_the_table_is_hooked() {
    let (_, hooked) = hooked();
    let recorded: BTreeSet<&str> = hooked.iter().filter_map(|name| Some(recorded_as(name)?.name())).collect();
    // What is recorded at the start of processes and threads is named in words.
    let calls = Call::ALL.iter().filter(|call| !call.layer().is_mpi());
    let names = calls.map(|call| call.name()).filter(|name| !name.contains('-') && *name != "unobserved");
    let names =
        names.filter(|name| !ENTRIES.contains(name) && !NO_FUNCTIONS.contains(name) && *name != "repeats");
    let missing: Vec<_> = names.filter(|name| !hooked.contains(*name) || !recorded.contains(*name)).collect();
    assert!(missing.is_empty(), "in the table of calls, and not exported: {missing:?}");
}

#[test]
fn no_twin_is_forgotten() {
    let ((_, hooked), libc) = (hooked(), libc());
    assert!(libc.has("open64") && libc.has("__read_chk") && !libc.has("__read_nocancel"), "libc was read");
    let families: BTreeSet<String> = hooked.iter().flat_map(|name| [name.clone(), plain(name)]).collect();
    let all = families.iter().flat_map(|name| twins(name).map(|twin| (name, twin)));
    let forgotten: BTreeMap<_, _> = all
        .filter(|(_, twin)| libc.has(twin) && !hooked.contains(twin))
        .filter(|(_, twin)| !SKIPPED.iter().any(|(skipped, _)| skipped == twin))
        .map(|(name, twin)| (twin, name))
        .collect();
    assert!(
        forgotten.is_empty(),
        "twins in libc that are not hooked, each with the function: {forgotten:#?}"
    );
    for (name, reason) in SKIPPED {
        assert!(libc.has(name) && !hooked.contains(name), "{name} need not be skipped any more ({reason})");
    }
}

/// Their functions are hooked because they may make system calls that no other hook sees.
#[test]
fn no_function_of_libaio_and_liburing_is_forgotten() {
    let (_, hooked) = hooked();
    let known = |name: &String| {
        hooked.contains(name)
            || NOT_RECORDED.iter().any(|(other, _)| other == name)
            || OF_LIBRARIES.iter().any(|(_, names)| names.contains(&name.as_str()))
    };
    let search = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
    // Debian 13 and Ubuntu 24.04 call libaio by another name.
    for names in [&["libaio.so.1", "libaio.so.1t64"][..], &["liburing.so.2"]] {
        let library = names[0];
        let paths = names.iter().flat_map(|name| search.map(|folder| Path::new(folder).join(name)));
        let found = { paths }.find(|path| path.exists());
        let Some(path) = found else { panic!("{library} is not installed; see scripts/setup") };
        let functions = Symbols::of(&path).defined;
        assert!(functions.iter().any(|name| name.starts_with("io_")), "{library} was read");
        let forgotten: Vec<_> = functions.into_iter().filter(|name| !known(name)).collect();
        assert!(forgotten.is_empty(), "functions of {library} that are not hooked: {forgotten:?}");
    }
}

#[test]
fn mpi_in_c_and_in_fortran_with_and_without_mpi_f08() {
    let shim = Symbols::of(&shim());
    let noted =
        COVERAGE.lines().filter(|line| line.contains("| noted")).filter_map(|line| line.split('`').nth(1));
    let of_mpi = || Call::ALL.iter().filter(|call| call.layer().is_mpi() && !call.has(Fact::Note));
    let calls: BTreeSet<&str> = of_mpi().map(|call| call.name()).chain(noted).collect();
    assert!(calls.contains("MPI_Comm_idup"), "COVERAGE.md was read");
    for call in &calls {
        let lower = call.to_lowercase();
        for spelling in [(*call).to_owned(), format!("{lower}_"), format!("{lower}_f08_")] {
            assert!(shim.has(&spelling), "{spelling} is not exported");
        }
    }
    let large = of_mpi().flat_map(|call| call.info().also);
    for name in large.clone() {
        assert!(shim.has(name), "{name} is not exported");
    }
    let known: BTreeSet<String> = calls.iter().chain(large).map(|call| call.to_lowercase()).collect();
    let of_mpi = shim.defined.iter().map(|name| (name.to_lowercase(), name));
    let of_mpi = of_mpi.filter(|(lower, _)| lower.starts_with("mpi_"));
    let unknown: Vec<_> = of_mpi
        .filter(|(lower, _)| !known.contains(lower.trim_end_matches('_').trim_end_matches("_f08")))
        .collect();
    assert!(unknown.is_empty(), "exported, and not in the table of calls: {unknown:?}");
}

/// A call of a hooked function from inside the shim would be recorded as the program's, or never end.
#[test]
fn the_shim_calls_no_function_that_it_hooks() {
    let (shim, hooked) = hooked();
    let harmless = |name: &&String| CALLED.iter().any(|(_, names)| names.contains(&name.as_str()));
    let called: Vec<_> = shim.called_by_itself.intersection(&hooked).filter(|name| !harmless(name)).collect();
    assert!(called.is_empty(), "hooked and called: {called:?}");
}
