//! The storage atom: reads of a file that is there, writes into one that grows, below a scratch folder.

use super::steps::{Calls, Step};
use anyhow::Context;
use rustix::fs::{Advice, fadvise, statvfs};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// A file that is read is at most so long; more is read again.
const READ_BYTES: u64 = 256 << 20;
/// A call moves at most so much.
const LARGEST: u64 = 64 << 20;

/// See the module.
pub struct Storage {
    read: File,
    read_len: u64,
    read_at: u64,
    write: File,
    written: u64,
    /// The written file is begun anew when it is so long.
    limit: u64,
    buffer: Vec<u8>,
    /// Bytes read and written.
    pub moved: [u64; 2],
}

impl Storage {
    /// Prepares files in `folder` for what `steps` do. `cold`: what is read is not in memory.
    ///
    /// # Errors
    /// When the folder has no room, or cannot be written.
    pub fn new(folder: &Path, steps: &[Step], cold: bool) -> anyhow::Result<Storage> {
        let calls = || steps.iter().flat_map(|step| &step.calls);
        let sum = |write: bool| {
            calls().filter(|calls| calls.write == write).map(|calls| calls.bytes * calls.count).sum::<u64>()
        };
        let largest = calls().map(|calls| calls.bytes).max().unwrap_or(0).min(LARGEST);
        let doing = || format!("cannot prepare files in {}", folder.display());
        let free = statvfs(folder).with_context(doing)?;
        let free = free.f_bavail * free.f_frsize;
        let read_len = sum(false).min(READ_BYTES);
        let limit = sum(true).min((free / 2).saturating_sub(read_len)).max(1 << 20);
        anyhow::ensure!(
            read_len + (1 << 20) < free,
            "{} has no room for a file of {read_len} bytes",
            folder.display()
        );
        // Without names: nothing is left of them, however this ends.
        let mut read = tempfile::tempfile_in(folder).with_context(doing)?;
        let write = tempfile::tempfile_in(folder).with_context(doing)?;
        let buffer = vec![0x5a; largest.max(1 << 20) as usize];
        // What is in memory anyway need not be written first: a hole is read from memory as well.
        read.set_len(read_len).with_context(doing)?;
        let mut left = if cold { read_len } else { 0 };
        while left > 0 {
            let now = left.min(buffer.len() as u64);
            read.write_all(&buffer[..now as usize]).with_context(doing)?;
            left -= now;
        }
        if cold {
            read.sync_data().with_context(doing)?;
            fadvise(&read, 0, None, Advice::DontNeed).with_context(doing)?;
        }
        read.seek(SeekFrom::Start(0)).with_context(doing)?;
        Ok(Storage { read, read_len, read_at: 0, write, written: 0, limit, buffer, moved: [0; 2] })
    }

    /// One call of each of `calls`' size and direction, `count` times.
    ///
    /// # Errors
    /// When the file system does not do it.
    pub fn perform(&mut self, calls: Calls, count: u64) -> anyhow::Result<()> {
        let bytes = calls.bytes.min(self.buffer.len() as u64) as usize;
        for _ in 0..count {
            if calls.write { self.write(bytes) } else { self.read(bytes) }.context("cannot move data")?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: usize) -> std::io::Result<()> {
        if self.written + bytes as u64 > self.limit {
            self.write.seek(SeekFrom::Start(0))?;
            self.written = 0;
        }
        self.write.write_all(&self.buffer[..bytes])?;
        self.written += bytes as u64;
        self.moved[1] += bytes as u64;
        Ok(())
    }

    fn read(&mut self, bytes: usize) -> std::io::Result<()> {
        let mut left = bytes;
        loop {
            if self.read_at + left as u64 > self.read_len {
                self.read.seek(SeekFrom::Start(0))?;
                self.read_at = 0;
            }
            let got = self.read.read(&mut self.buffer[..left])?;
            self.read_at += got as u64;
            self.moved[0] += got as u64;
            left -= got.min(left);
            if left == 0 || got == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bytes_move_as_were_asked_for() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let calls =
            [Calls { write: true, bytes: 3000, count: 1000 }, Calls { write: false, bytes: 700, count: 9 }];
        let steps = [Step { calls: calls.to_vec(), ..Step::default() }];
        let mut storage = Storage::new(folder.path(), &steps, false).expect("room for it");
        for one in calls {
            storage.perform(one, one.count).expect("files that can be used");
        }
        assert_eq!(storage.moved, [6300, 3_000_000]);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0, "no file has a name");
    }
}
