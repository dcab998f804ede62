//! Where the libraries to preload are, and how they get into the command.

use anyhow::{Context, bail};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use syn_trace::board;

/// A library to preload.
#[derive(Clone, Copy)]
struct Library {
    what: &'static str,
    file: &'static str,
    variable: &'static str,
}

const SHIM: Library = Library { what: "the shim", file: "libsynshim.so", variable: "SYN_SHIM" };
const COUNTER: Library =
    Library { what: "the library that counts allocations", file: "libsynalloc.so", variable: "SYN_ALLOC" };

/// The shim: the one asked for, else $SYN_SHIM, else the one installed or built with this program.
pub fn find(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    SHIM.find(asked)
}

/// What counts allocations: $SYN_ALLOC, else the one installed or built with this program.
pub fn find_counter() -> anyhow::Result<PathBuf> {
    COUNTER.find(None)
}

impl Library {
    fn find(self, asked: Option<&Path>) -> anyhow::Result<PathBuf> {
        let Library { what, file, variable } = self;
        let named = asked.map(Path::to_owned).or_else(|| std::env::var_os(variable).map(PathBuf::from));
        let candidates = match named {
            Some(path) => vec![path],
            None => beside_this_program(file)?,
        };
        let Some(found) = candidates.iter().find(|path| path.is_file()) else {
            let looked: Vec<String> =
                candidates.iter().map(|path| format!("\n  {}", path.display())).collect();
            let option = if file == SHIM.file { "--shim or " } else { "" };
            bail!("cannot find {what}; name it with {option}{variable}. Looked for:{}", looked.concat());
        };
        let library = found.canonicalize().with_context(|| format!("cannot resolve {}", found.display()))?;
        if library.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b' ' | b':' | b'\t' | b'\n')) {
            bail!(
                "the loader takes spaces and colons in LD_PRELOAD for separators, and the path of {what} has one: {}; copy it \
             elsewhere and name it with {}{variable}",
                library.display(),
                if file == SHIM.file { "--shim or " } else { "" }
            );
        }
        Ok(library)
    }
}

/// `cargo build` puts it in the same folder or in `deps`, an installation into `../lib/syn`.
fn beside_this_program(file: &str) -> anyhow::Result<Vec<PathBuf>> {
    let program =
        std::env::current_exe().context("cannot tell where this program is; name the shim with --shim")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    Ok(["", "deps", "../lib/syn"].map(|place| folder.join(place).join(file)).to_vec())
}

/// Where this program itself is part of a recorded job, the command is to be part of a job of its own, in `folder`. (A recorder that
/// this program runs under puts the outer folder where it finds none.)
pub fn leave_outer_job(command: &mut Command, folder: &Path) {
    command.env_remove(board::VARIABLE);
    if std::env::var_os("SYN_JOB").is_some() {
        command.env("SYN_JOB", folder);
    }
}

/// LD_PRELOAD with these libraries in front of what is preloaded already.
pub fn preload(libraries: &[&Path]) -> OsString {
    let before = std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty());
    let ours = libraries.iter().map(|library| library.as_os_str());
    ours.chain(before.as_deref()).collect::<Vec<_>>().join(OsStr::new(":"))
}
