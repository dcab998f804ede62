//! Where the shim is, and how it gets into the command.

use anyhow::{Context, bail};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libsynshim.so";

/// The shim: the one asked for, else $SYN_SHIM, else the one installed or built with this program.
pub fn find(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let named = asked.map(Path::to_owned).or_else(|| std::env::var_os("SYN_SHIM").map(PathBuf::from));
    let candidates = match named {
        Some(path) => vec![path],
        None => beside_this_program()?,
    };
    let Some(found) = candidates.iter().find(|path| path.is_file()) else {
        let looked: Vec<String> = candidates.iter().map(|path| format!("\n  {}", path.display())).collect();
        bail!("cannot find the shim; name it with --shim or SYN_SHIM. Looked for:{}", looked.concat());
    };
    let shim = found.canonicalize().with_context(|| format!("cannot resolve {}", found.display()))?;
    if shim.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b' ' | b':' | b'\t' | b'\n')) {
        bail!(
            "the loader takes spaces and colons in LD_PRELOAD for separators, and the shim's path has one: {}; copy it \
             elsewhere and name it with --shim",
            shim.display()
        );
    }
    Ok(shim)
}

/// `cargo build` puts it in the same folder or in `deps`, an installation into `../lib/syn`.
fn beside_this_program() -> anyhow::Result<Vec<PathBuf>> {
    let program =
        std::env::current_exe().context("cannot tell where this program is; name the shim with --shim")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    Ok(["", "deps", "../lib/syn"].map(|place| folder.join(place).join(LIBRARY)).to_vec())
}

/// LD_PRELOAD with the shim in front of what is preloaded already.
pub fn preload(shim: &Path) -> OsString {
    let mut value = shim.as_os_str().to_owned();
    if let Some(before) = std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty()) {
        value.push(":");
        value.push(before);
    }
    value
}
