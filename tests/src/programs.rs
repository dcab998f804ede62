//! Builds the C and Fortran programs of `tests/programs`, once per target folder and whenever a source is newer.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

/// Programs in C that know nothing of MPI.
const WITHOUT_MPI: [&str; 5] = ["posix_surface", "stdio_surface", "process_surface", "survivor", "failures"];

/// One builder at a time in this process. Builders in other processes do no harm: each has a file of its own
/// and moves it into place when it is whole.
static BUILDING: Mutex<()> = Mutex::new(());

#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Plain,
    Fortified,
}

/// The program `tests/programs/<name>.c`, `.f90` or `.f`, or made of all C files in the folder `<name>`.
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
    let sources = Sources::of(name);
    let folder = profile_folder().join("programs");
    let binary = match variant {
        Variant::Plain => folder.join(name),
        Variant::Fortified => folder.join(format!("{name}.fortified")),
    };
    if modified(&binary).is_none_or(|built| built <= sources.newest) {
        std::fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("cannot make {}: {e}", folder.display()));
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
    fn of(name: &str) -> Sources {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        let own_folder = programs.join(name);
        let single = ["c", "f90", "f"].map(|extension| programs.join(format!("{name}.{extension}")));
        let compiled = match single.into_iter().find(|file| file.is_file()) {
            Some(file) => vec![file],
            None => files_with(&own_folder, "c"),
        };
        assert!(!compiled.is_empty(), "there is no test program {name} in {}", programs.display());
        let headers = [files_with(&programs, "h"), files_with(&own_folder, "h")].concat();
        let newest = compiled.iter().chain(&headers).filter_map(|file| modified(file)).max();
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
    let in_c = sources[0].extension() == Some(OsStr::new("c"));
    let compiler = match in_c {
        false => "mpif90",
        true if WITHOUT_MPI.contains(&name) => "cc",
        true => "mpicc",
    };
    let unfinished = binary.with_extension(format!("{}.unfinished", std::process::id()));
    let mut command = Command::new(compiler);
    command.args(["-O2", "-Wall", "-Werror", "-o"]).arg(&unfinished).args(sources);
    if in_c {
        // Some distributions' compilers fortify unasked: without the definition there is one plain variant.
        command.args(["-std=gnu11", "-Wextra", "-pthread", "-U_FORTIFY_SOURCE"]);
    }
    if variant == Variant::Fortified {
        command.arg("-D_FORTIFY_SOURCE=2");
    }
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "cannot run {compiler} to build the test program {name}: {error}. It comes with a C compiler (cc), an MPI \
             library's development package (mpicc) and a Fortran compiler (mpif90); on Debian: gcc, gfortran, \
             libopenmpi-dev, openmpi-bin."
        )
    });
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} does not build the test program {name}:\n{messages}");
    std::fs::rename(&unfinished, binary).unwrap_or_else(|error| {
        panic!("cannot move {} to {}: {error}", unfinished.display(), binary.display());
    });
}
