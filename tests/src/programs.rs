//! Builds the programs and libraries of `tests/programs`, once per target folder and whenever a source is newer.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

/// Programs in C that know nothing of MPI.
const WITHOUT_MPI: &[&str] = &[
    "posix_surface",
    "stdio_surface",
    "process_surface",
    "sync_surface",
    "mmap_surface",
    "patched",
    "socket_surface",
    "aio_surface",
    "survivor",
    "failures",
    "surroundings",
    "early",
    "loader",
    "raw_surface",
    "privileged",
    "grain",
    "interrupted",
    "libc_surface",
    "descriptors",
    "metadata",
    "order",
    "lock_names",
    "waits_for_all",
    "unordered",
    "spin",
    "time/calls",
    "time/signals",
    "time/sync",
    "time/processes",
    "time/threads",
    "time/openmp",
    "time/load",
    "time/ends",
];

/// What a program or library is linked with besides libc.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("aio_surface", &["-laio", "-luring"]),
    ("order", &["-luring"]),
    ("constructing_first", &["-Wl,-z,initfirst"]),
    ("time/openmp", &["-fopenmp"]),
];

/// One builder at a time in this process. Builders in other processes do no harm: each has a file of its own
/// and moves it into place when it is whole.
static BUILDING: Mutex<()> = Mutex::new(());

#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Plain,
    Fortified,
    Sanitized,
    Static,
    Library,
    Mpich,
}

/// The program `tests/programs/<name>.c`, `.cpp`, `.f90`, `.f` or `.go`, or made of all C files in the folder `<name>`; the
/// name may have a folder in it.
///
/// # Panics
/// When there is no such program, its compiler is missing, or it does not compile.
pub fn program(name: &str) -> PathBuf {
    built(name, Variant::Plain)
}

/// The same with `-D_FORTIFY_SOURCE=2`: it calls libc's checked entry points (`__read_chk`, `__open_2`, …).
///
/// # Panics
/// As [`program`].
pub fn program_fortified(name: &str) -> PathBuf {
    built(name, Variant::Fortified)
}

/// The same with `-fsanitize=address`: another library that interposes on libc is part of it.
///
/// # Panics
/// As [`program`].
pub fn program_sanitized(name: &str) -> PathBuf {
    built(name, Variant::Sanitized)
}

/// The same linked statically: no library can be preloaded into it.
///
/// # Panics
/// As [`program`].
pub fn program_static(name: &str) -> PathBuf {
    built(name, Variant::Static)
}

/// The same for MPICH, whatever the default MPI is.
///
/// # Panics
/// As [`program`].
pub fn program_for_mpich(name: &str) -> PathBuf {
    built(name, Variant::Mpich)
}

/// True when this machine has a compiler for Go.
pub fn has_go() -> bool {
    Command::new("go").arg("version").output().is_ok_and(|output| output.status.success())
}

/// The shared library made of `tests/programs/libraries/<name>.c`.
///
/// # Panics
/// As [`program`].
pub fn library(name: &str) -> PathBuf {
    built(name, Variant::Library)
}

/// `target/<profile>` of the running test.
///
/// # Panics
/// When the test is not run from a target folder.
pub fn profile_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    let folder = test.parent().expect("a program lies in a folder");
    let in_deps = folder.file_name() == Some(OsStr::new("deps"));
    if in_deps { folder.parent().expect("deps lies in a folder").to_owned() } else { folder.to_owned() }
}

fn built(name: &str, variant: Variant) -> PathBuf {
    let _alone = BUILDING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let folder = profile_folder().join("programs");
    let (sources, binary) = match variant {
        Variant::Plain => (Sources::of(&programs, name), folder.join(name)),
        Variant::Fortified => (Sources::of(&programs, name), folder.join(format!("{name}.fortified"))),
        Variant::Sanitized => (Sources::of(&programs, name), folder.join(format!("{name}.sanitized"))),
        Variant::Static => (Sources::of(&programs, name), folder.join(format!("{name}.static"))),
        Variant::Library => {
            (Sources::of(&programs.join("libraries"), name), folder.join(format!("lib{name}.so")))
        }
        Variant::Mpich => (Sources::of(&programs, name), folder.join(format!("{name}.mpich"))),
    };
    if modified(&binary).is_none_or(|built| built <= sources.newest) {
        let folder = binary.parent().expect("a program lies in a folder");
        std::fs::create_dir_all(folder).unwrap_or_else(|e| panic!("cannot make {}: {e}", folder.display()));
        compile(name, &sources.compiled, variant, &binary);
    }
    binary
}

/// The files a program is made of.
struct Sources {
    compiled: Vec<PathBuf>,
    newest: SystemTime,
}

impl Sources {
    fn of(programs: &Path, name: &str) -> Sources {
        let own_folder = programs.join(name);
        let folder_above = own_folder.parent().expect("a program lies in a folder");
        let single =
            ["c", "cpp", "f90", "f", "go"].map(|extension| programs.join(format!("{name}.{extension}")));
        let compiled = match single.into_iter().find(|file| file.is_file()) {
            Some(file) => vec![file],
            None => files_with(&own_folder, "c"),
        };
        assert!(!compiled.is_empty(), "there is no test program {name} in {}", programs.display());
        let headers = [programs, folder_above, &own_folder].map(|folder| files_with(folder, "h")).concat();
        // Flags may have changed with this file.
        let flags = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/programs.rs");
        let newest = compiled.iter().chain(&headers).chain([&flags]).filter_map(|file| modified(file)).max();
        Sources { compiled, newest: newest.expect("the sources have a time of modification") }
    }
}

fn files_with(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let mut found: Vec<_> = files.filter(|file| file.extension() == Some(OsStr::new(extension))).collect();
    found.sort();
    found
}

fn modified(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|metadata| metadata.modified()).ok()
}

fn compile(name: &str, sources: &[PathBuf], variant: Variant, binary: &Path) {
    let language = sources[0].extension().and_then(OsStr::to_str).unwrap_or_default();
    let without_mpi = match variant {
        Variant::Library => !name.starts_with("mpi_"),
        _ => WITHOUT_MPI.contains(&name),
    };
    let compiler = match language {
        "c" if without_mpi => "cc",
        "c" if variant == Variant::Mpich => "mpicc.mpich",
        "c" => "mpicc",
        "cpp" if name.starts_with("mpi_") => "mpicxx",
        "cpp" => "c++",
        _ => "mpif90",
    };
    let unfinished = binary.with_extension(format!("{}.unfinished", std::process::id()));
    if language == "go" {
        return make(name, "go", go(&unfinished, &sources[0]), &unfinished, binary);
    }
    let mut command = Command::new(compiler);
    command.args(["-O2", "-Wall", "-Werror", "-o"]).arg(&unfinished).args(sources);
    if language == "c" {
        command.arg("-std=gnu11");
    }
    if ["c", "cpp"].contains(&language) {
        // Some distributions' compilers fortify unasked: without the definition there is one plain variant.
        command.args(["-Wextra", "-pthread", "-U_FORTIFY_SOURCE"]);
    }
    match variant {
        Variant::Plain => {}
        Variant::Fortified => drop(command.arg("-D_FORTIFY_SOURCE=2")),
        Variant::Sanitized => drop(command.arg("-fsanitize=address")),
        // glibc 2.39 names a function of wide streams in such a way that a static program lacks it.
        Variant::Static => drop(command.args(["-static", "-Wl,-u,_IO_wfile_doallocate"])),
        Variant::Library => drop(command.args(["-shared", "-fPIC"])),
        // Its prototypes and its MPI_STATUSES_IGNORE do not agree.
        Variant::Mpich => drop(command.arg("-Wno-stringop-overflow")),
    }
    let linked = LIBRARIES.iter().filter(|(program, _)| *program == name);
    command.args(linked.flat_map(|(_, libraries)| *libraries));
    make(name, compiler, command, &unfinished, binary);
}

/// The compiler for Go, with nothing of the user's settings and no other network than none. Programs that import C are linked
/// with libc.
fn go(unfinished: &Path, source: &Path) -> Command {
    let text = std::fs::read_to_string(source).unwrap_or_default();
    let with_c = if text.contains("import \"C\"") { "1" } else { "0" };
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(unfinished).arg(source);
    command.env("GOCACHE", unfinished.with_extension("cache")).env("GOFLAGS", "");
    command.envs([("GO111MODULE", "off"), ("GOTOOLCHAIN", "local"), ("CGO_ENABLED", with_c)]);
    command
}

fn make(name: &str, compiler: &str, mut command: Command, unfinished: &Path, binary: &Path) {
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "cannot run {compiler} to build the test program {name}: {error}. It comes with a compiler for C (cc) or C++ \
             (c++), an MPI library's development package (mpicc) and a Fortran compiler (mpif90); on Debian: gcc, g++, \
             gfortran, libopenmpi-dev, openmpi-bin, libmpich-dev."
        )
    });
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} does not build the test program {name}:\n{messages}");
    std::fs::rename(unfinished, binary).unwrap_or_else(|error| {
        panic!("cannot move {} to {}: {error}", unfinished.display(), binary.display());
    });
}

/// Copies a program by a process of its own: what another test starts meanwhile must not have the copy open for writing, or it
/// cannot be executed (execve(2), `ETXTBSY`).
///
/// # Panics
/// When that fails.
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to).status().expect("cp");
    assert!(copied.success(), "{} is not copied", from.as_ref().display());
}
