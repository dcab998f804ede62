//! The MPIs that `scripts/setup test` installs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use tests::{Job, launched, profile_folder};

/// One MPI.
pub struct Stack {
    /// Its name here.
    pub name: &'static str,
    /// What the recorder calls it.
    pub recorded_as: &'static str,
    /// The library with the functions of C.
    pub libmpi: PathBuf,
    /// The compiler's wrapper for Fortran, if there is one.
    pub fortran: Option<&'static str>,
    /// An interpreter with mpi4py, if it works with this one, and the variables that it takes.
    pub python: Option<(PathBuf, Vec<(&'static str, OsString)>)>,
    mpiexec: PathBuf,
    headers: PathBuf,
    flags: &'static [&'static str],
}

const LARGE: &[&str] = &["-DLARGE_COUNTS"];
const STANDARD: &[&str] = &["-DLARGE_COUNTS", "-DSTANDARD_ABI"];
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu";

/// Where the setup puts MPIs that are no packages of the system.
pub fn mpis() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").expect("HOME")).join(".cache"));
    cache.join("syn/mpis")
}

/// All of them that work. Intel MPI comes without headers, and has MPICH's.
pub fn stacks() -> Vec<Stack> {
    let mpis = mpis();
    let (open5, mpich5, intel) = (mpis.join("openmpi5"), mpis.join("mpich5"), mpis.join("impi"));
    let python = |folder: &Path| Some((folder.join("bin/python"), Vec::new()));
    let with = |variables: Vec<(&'static str, OsString)>| Some((mpich5.join("bin/python"), variables));
    let stack = |name, recorded_as, library, headers: &Path, mpiexec, flags| Stack {
        name,
        recorded_as,
        libmpi: library,
        mpiexec,
        headers: headers.to_owned(),
        flags,
        fortran: None,
        python: None,
    };
    let debian = Path::new(DEBIAN);
    let mpich = mpich5.join("include");
    let all = vec![
        Stack {
            fortran: Some("mpif90.openmpi"),
            python: with(vec![("MPI4PY_MPIABI", "openmpi".into())]),
            ..stack(
                "Open MPI 4",
                "Open MPI",
                debian.join("openmpi/lib/libmpi.so"),
                &debian.join("openmpi/include"),
                "mpirun.openmpi".into(),
                &[],
            )
        },
        Stack {
            fortran: Some("mpif90.mpich"),
            // mpi4py asks for the library by the name that it has elsewhere.
            python: with(vec![
                ("MPI4PY_MPIABI", "mpich".into()),
                ("LD_LIBRARY_PATH", linked(&debian.join("libmpich.so.12"), "libmpi.so.12")),
            ]),
            ..stack(
                "MPICH 4",
                "MPICH",
                debian.join("libmpich.so"),
                &debian.join("mpich/include"),
                "mpiexec.hydra".into(),
                LARGE,
            )
        },
        Stack {
            python: python(&open5),
            ..stack(
                "Open MPI 5",
                "Open MPI",
                open5.join("lib/libmpi.so.40"),
                &open5.join("include"),
                open5.join("bin/mpiexec"),
                &[],
            )
        },
        Stack {
            python: python(&mpich5),
            ..stack(
                "MPICH 5",
                "MPICH",
                mpich5.join("lib/libmpi.so.12"),
                &mpich,
                mpich5.join("bin/mpiexec"),
                LARGE,
            )
        },
        stack(
            "MPICH 5, standard ABI",
            "MPI standard ABI",
            mpich5.join("lib/libmpi_abi.so.1"),
            &mpich,
            mpich5.join("bin/mpiexec"),
            STANDARD,
        ),
        Stack {
            python: python(&intel),
            ..stack(
                "Intel MPI",
                "MPICH",
                intel.join("lib/libmpi.so.12"),
                &mpich,
                intel.join("bin/mpiexec"),
                LARGE,
            )
        },
        stack(
            "Intel MPI, standard ABI",
            "MPI standard ABI",
            intel.join("lib/libmpi_abi.so.1"),
            &mpich,
            intel.join("bin/mpiexec"),
            STANDARD,
        ),
    ];
    for stack in &all {
        assert!(stack.libmpi.exists(), "{} is missing: run scripts/setup test", stack.libmpi.display());
    }
    let is_without_mpich = tests::is_missing("MPICH");
    all.into_iter().filter(|stack| !(is_without_mpich && stack.name == "MPICH 4")).collect()
}

impl Stack {
    /// So many ranks of what follows.
    pub fn launcher(&self, ranks: u32) -> Job {
        launched(&self.mpiexec, ranks)
    }

    /// The C program for this MPI.
    pub fn built_program(&self) -> PathBuf {
        let rpath = self.libmpi.parent().expect("a library lies in a folder");
        let mut command = Command::new("cc");
        // MPICH's prototypes and its MPI_STATUSES_IGNORE do not agree.
        command
            .args(["-O1", "-Wall", "-Wno-stringop-overflow"])
            .arg("-I")
            .arg(&self.headers)
            .args(self.flags);
        command.arg(source("calls.c")).arg(&self.libmpi);
        command.arg([OsStr::new("-Wl,-rpath,"), rpath.as_os_str()].join(OsStr::new("")));
        self.built(command, "calls")
    }

    /// The Fortran program for this MPI.
    pub fn built_fortran_program(&self) -> PathBuf {
        let mut command = Command::new(self.fortran.expect("a compiler for Fortran"));
        command.arg("-O1").arg(source("calls.f90"));
        self.built(command, "calls_f")
    }

    /// The script on this MPI.
    pub fn python_job(&self, script: &Path) -> Job {
        let (python, variables) = self.python.as_ref().expect("an interpreter");
        let job = Job::new(python).arg(script);
        variables.iter().fold(job, |job, (name, value)| job.env(name, value))
    }

    fn built(&self, command: Command, name: &str) -> PathBuf {
        built(command, &format!("{name} {}", self.name).replace([' ', ','], "_"))
    }
}

/// A source of the tests' programs on all MPIs.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/stacks").join(name)
}

/// A program and its MPI, made of one file.
pub fn with_own_mpi(name: &str) -> PathBuf {
    let compiler = || {
        let mut command = Command::new("cc");
        command.args(["-O1", "-Wall"]).arg(source(&format!("{name}.c")));
        command
    };
    let mut library = compiler();
    library.args(["-shared", "-fPIC", "-DLIBRARY"]);
    let library = built(library, &format!("lib{name}.so"));
    let mut program = compiler();
    program.arg(&library);
    built(program, name)
}

/// What a compiler makes, under this name.
fn built(mut command: Command, name: &str) -> PathBuf {
    let folder = profile_folder().join("programs/stacks");
    std::fs::create_dir_all(&folder).expect("a folder for programs");
    let program = folder.join(name);
    let unfinished = folder.join(format!("{name}.{}", std::process::id()));
    let output = command.arg("-o").arg(&unfinished).output().expect("a compiler; see scripts/setup");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&unfinished, &program).expect("a program can be moved into its place");
    program
}

/// A folder in which the library has this name.
fn linked(library: &Path, name: &str) -> OsString {
    let folder = profile_folder().join("programs/stacks/libraries");
    std::fs::create_dir_all(&folder).expect("a folder for libraries");
    match std::os::unix::fs::symlink(library, folder.join(name)) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => panic!("{name}: {error}"),
        _ => folder.into_os_string(),
    }
}
