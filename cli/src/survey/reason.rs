//! Why the shim did not enter a program, as far as its file tells.

use rustix::fs::getxattr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why a library that is preloaded does not get into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has no loader that could do that.
    Static,
    /// Its loader is that of another C library.
    OtherLibc,
    /// It is not for x86-64.
    OtherMachine,
    /// It has more rights than whoever starts it, and the loader is careful then.
    Privileged(&'static str),
    /// The file tells nothing.
    Unknown,
    /// There is no such file any more.
    Gone,
}

impl Reason {
    /// In words.
    pub fn text(self) -> String {
        match self {
            Reason::Static => "statically linked".into(),
            Reason::OtherLibc => "linked against another C library than glibc".into(),
            Reason::OtherMachine => "not a program for x86-64".into(),
            Reason::Privileged(how) => format!("{how}, and such programs take no preloaded libraries"),
            Reason::Unknown => "started with a cleared environment, or as a user who may not write into the run folder, or ended before it was loaded".into(),
            Reason::Gone => "its file cannot be looked at any more".into(),
        }
    }

    /// True when the other recorder would see the program.
    pub fn ptrace_helps(self) -> bool {
        !matches!(self, Reason::OtherMachine | Reason::Gone)
    }

    /// Looks at the program that was started as `name` by someone in the folder `cwd`.
    pub fn of(name: &str, cwd: &str) -> Reason {
        program_file(name, cwd).map_or(Reason::Gone, |path| of_file(&path, SCRIPTS).unwrap_or(Reason::Gone))
    }
}

/// How many interpreters of interpreters are looked through, as by the kernel.
const SCRIPTS: u32 = 4;

/// The file that a name stands for: with a slash a path, else something in `PATH`.
pub fn program_file(name: &str, cwd: &str) -> Option<PathBuf> {
    let name = PathBuf::from(std::ffi::OsString::from(name));
    if name.to_string_lossy().contains('/') {
        return Some(Path::new(cwd).join(name));
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

fn of_file(path: &Path, scripts: u32) -> io::Result<Reason> {
    let file = File::open(path)?;
    let mut front = [0; 256];
    let length = file.read_at(&mut front, 0)?;
    if let Some(line) = front[..length].strip_prefix(b"#!") {
        let interpreter = line.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let interpreter = interpreter.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        return match scripts {
            0 => Ok(Reason::Unknown),
            _ => of_file(Path::new(&*String::from_utf8_lossy(interpreter)), scripts - 1),
        };
    }
    if let Some(how) = privileges(path, &file)? {
        return Ok(Reason::Privileged(how));
    }
    of_elf(&file)
}

fn privileges(path: &Path, file: &File) -> io::Result<Option<&'static str>> {
    let about = file.metadata()?;
    let mine = fs::metadata("/proc/self")?;
    let has = |bit: u32| about.mode() & bit != 0;
    const SET_USER_ID: u32 = 0o4000;
    const SET_GROUP_ID: u32 = 0o2000;
    Ok(if has(SET_USER_ID) && about.uid() != mine.uid() {
        Some("set-user-ID")
    } else if has(SET_GROUP_ID) && about.gid() != mine.gid() {
        Some("set-group-ID")
    } else {
        getxattr(path, "security.capability", &mut [0u8; 64][..]).is_ok().then_some("with file capabilities")
    })
}

/// Source: the ELF-64 object file format, "ELF header" and "program header".
fn of_elf(mut file: &File) -> io::Result<Reason> {
    const PT_INTERP: u32 = 3;
    const EM_X86_64: u16 = 62;
    /// Headers of usual length that are looked at.
    const MOST: u16 = 64;
    let mut header = [0; 64];
    file.read_exact(&mut header)?;
    let number =
        |bytes: &[u8], at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let is_elf_64 = header.starts_with(b"\x7fELF\x02");
    if !is_elf_64 || number(&header, 18) as u16 != EM_X86_64 {
        return Ok(if header.starts_with(b"\x7fELF") { Reason::OtherMachine } else { Reason::Unknown });
    }
    let (table, entry_bytes) = (number(&header, 32), number(&header, 54) as u16);
    let count = header[56..].first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes)).min(MOST);
    for index in 0..u64::from(count) {
        let mut entry = [0; 56];
        file.read_exact_at(&mut entry, table.saturating_add(index * u64::from(entry_bytes)))?;
        if number(&entry, 0) as u32 == PT_INTERP {
            let mut loader = vec![0; number(&entry, 32).min(4096) as usize];
            file.read_exact_at(&mut loader, number(&entry, 8))?;
            let is_glibc = String::from_utf8_lossy(&loader).contains("ld-linux-x86-64");
            return Ok(if is_glibc { Reason::Unknown } else { Reason::OtherLibc });
        }
    }
    Ok(Reason::Static)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// An ELF header for this machine with one program header of this kind, and a loader's name.
    fn elf(machine: u16, kind: u32, loader: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 120];
        bytes[..5].copy_from_slice(b"\x7fELF\x02");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes[72] = 120;
        bytes[96] = loader.len() as u8;
        bytes.extend_from_slice(loader);
        bytes
    }

    #[test]
    fn files_tell_why() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().to_str().unwrap();
        let reason = |name: &str, content: &[u8]| {
            fs::write(folder.path().join(name), content).unwrap();
            Reason::of(&format!("./{name}"), cwd)
        };
        assert_eq!(reason("static", &elf(62, 1, b"")), Reason::Static);
        assert_eq!(reason("musl", &elf(62, 3, b"/lib/ld-musl-x86_64.so.1\0")), Reason::OtherLibc);
        assert_eq!(reason("usual", &elf(62, 3, b"/lib64/ld-linux-x86-64.so.2\0")), Reason::Unknown);
        assert_eq!(reason("arm", &elf(183, 3, b"/lib/ld-linux-aarch64.so.1\0")), Reason::OtherMachine);
        assert_eq!(reason("short", b"\x7fELF"), Reason::Gone);
        let script = format!("#! {cwd}/static -x\n");
        assert_eq!(reason("script", script.as_bytes()), Reason::Static);
        assert_eq!(reason("itself", format!("#!{cwd}/itself").as_bytes()), Reason::Unknown);
        assert_eq!(Reason::of("./missing", cwd), Reason::Gone);
        assert_eq!(Reason::of("no-such-program-anywhere", cwd), Reason::Gone);
    }

    /// Only root can give a file to someone else.
    #[test]
    fn privileges_tell_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, elf(62, 3, b"/lib64/ld-linux-x86-64.so.2\0")).unwrap();
        if std::os::unix::fs::chown(&path, Some(65534), Some(65534)).is_err() {
            return eprintln!("skipped: this user cannot give a file away");
        }
        for (mode, how) in [(0o4755, "set-user-ID"), (0o2755, "set-group-ID")] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Reason::of(path.to_str().unwrap(), "/"), Reason::Privileged(how));
        }
    }
}
