//! The fresh folder below `--storage`: made, opened, removed.

use super::Root;
use anyhow::{Context, bail};
use rustix::fs::{CWD, Mode, OFlags, fstatvfs, mkdirat, openat};
use rustix::io::Errno;
use std::fs::Permissions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder in which one replay happens. Whoever made it removes it when done, unless it is to be kept.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// The way to everything in it.
    pub root: Root,
    remove: bool,
}

impl Folder {
    /// Makes a fresh folder below `storage`, in which `needed` bytes must find room.
    ///
    /// # Errors
    /// When `storage` is missing, not a folder, not writable or too small, or the kernel has no `openat2`.
    pub fn create(storage: &Path, needed: u64, keep: bool) -> anyhow::Result<Folder> {
        let dir = open_storage(storage)?;
        let name = fresh(&dir, storage)?;
        let path = storage.join(name);
        let mut folder = Folder::open(&path).inspect_err(|_| drop(std::fs::remove_dir(&path)))?;
        folder.remove = !keep;
        room(&folder.root, storage, needed)?;
        Ok(folder)
    }

    /// Opens a folder that another process made.
    ///
    /// # Errors
    /// When it is not there, or the kernel has no `openat2`.
    pub fn open(path: &Path) -> anyhow::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(CWD, path, flags, Mode::empty()).with_context(|| {
            format!("cannot open {} (the storage must be the same for all ranks)", path.display())
        })?;
        let root = Root::new(dir);
        match root.open(c".", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()) {
            Ok(_) => Ok(Folder { path: path.to_owned(), root, remove: false }),
            Err(Errno::NOSYS | Errno::PERM) => bail!(
                "the kernel does not offer openat2(2) (Linux 5.6, or a container that hides it), without which nothing \
                 can be kept inside {}; replay on another machine",
                path.display()
            ),
            Err(error) => {
                Err(error).with_context(|| format!("cannot look up files below {}", path.display()))
            }
        }
    }

    /// Removes the folder if this process made it and is not to keep it.
    ///
    /// # Errors
    /// When something in it cannot be removed.
    pub fn remove(mut self) -> anyhow::Result<()> {
        if !std::mem::take(&mut self.remove) {
            return Ok(());
        }
        self.remove_all().with_context(|| format!("cannot remove {}; remove it by hand", self.path.display()))
    }

    /// Whether it may stay beside the folder of a further replay that needs so many bytes: it takes a small part of the storage.
    pub fn may_stay(&self, needed: u64) -> bool {
        free(&self.root).is_ok_and(|free| free.is_some_and(|free| needed <= free / 4))
    }

    fn remove_all(&self) -> std::io::Result<()> {
        std::fs::remove_dir_all(&self.path).or_else(|_| {
            // The application may have taken the right to change folders from itself.
            let _ = open_up(&self.path);
            std::fs::remove_dir_all(&self.path)
        })
    }
}

impl Drop for Folder {
    /// On the way out after an error, which is the one to tell.
    fn drop(&mut self) {
        if self.remove {
            let _ = self.remove_all();
        }
    }
}

/// Gives the owner every right to the folders below `folder` and to itself.
fn open_up(folder: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(folder)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

fn open_storage(storage: &Path) -> anyhow::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(CWD, storage, flags, Mode::empty()) {
        Ok(dir) => Ok(dir),
        Err(Errno::NOENT) => bail!("--storage {}: there is no such folder; make it first", storage.display()),
        Err(Errno::NOTDIR) => bail!("--storage {}: is not a folder", storage.display()),
        Err(error) => Err(error).with_context(|| format!("--storage {}: cannot open it", storage.display())),
    }
}

/// Makes a folder with a name that was free.
fn fresh(dir: &OwnedFd, storage: &Path) -> anyhow::Result<String> {
    let not_writable =
        || format!("--storage {}: cannot make a folder in it; is it writable?", storage.display());
    let mut name = format!("syn-replay-{}", std::process::id());
    let first = name.clone();
    for attempt in 2.. {
        match mkdirat(dir, name.as_str(), Mode::RWXU) {
            Ok(()) => break,
            Err(Errno::EXIST) => name = format!("{first}-{attempt}"),
            Err(error) => return Err(error).with_context(not_writable),
        }
    }
    Ok(name)
}

fn room(root: &Root, storage: &Path, needed: u64) -> anyhow::Result<()> {
    let free =
        free(root).with_context(|| format!("cannot ask for the free space of {}", storage.display()))?;
    if let Some(free) = free.filter(|&free| needed > free) {
        bail!(
            "--storage {}: too small; the replay needs up to {needed} bytes there, {free} bytes are free",
            storage.display()
        );
    }
    Ok(())
}

/// Bytes that may still be written to the file system; `None` where it does not say how large it is, as ramfs.
fn free(root: &Root) -> rustix::io::Result<Option<u64>> {
    fstatvfs(root).map(|about| (about.f_blocks > 0).then(|| about.f_bavail.saturating_mul(about.f_frsize)))
}
