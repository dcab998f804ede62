//! One process image: what its threads have in common, and the records that it begins with.

use crate::descriptors::{self, Descriptor};
use crate::error::Error;
use crate::file::TraceFile;
use crate::image::ImageFile;
use crate::ptrace::Tid;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::rc::Rc;
use syn_trace::calls::Effect;
use syn_trace::policy::{Choice, Policy};
use syn_trace::record::MAX_TEXT_BYTES;
use syn_trace::{Call, Layer};

/// The most open descriptors that are noted when an image starts.
const MAX_INHERITED: usize = 4096;
/// Signals are numbered from 1 to 64.
const SIGNALS: usize = 65;

/// What a recorder of system calls cannot see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limitation {
    /// Another convention than that of x86-64.
    Foreign,
    /// What goes through memory that the kernel shares.
    Rings,
    /// Writing to memory.
    Pages,
}

impl Limitation {
    /// What a call shows not to be seen from now on.
    pub fn of(call: Call, numbers: &[i64]) -> Option<Limitation> {
        const WRITABLE: i64 = libc::PROT_WRITE as i64;
        const SHARED: i64 = libc::MAP_SHARED as i64;
        match (call.effect(), numbers) {
            (Effect::OpenRing, _) => Some(Limitation::Rings),
            (Effect::Map, &[_, _, protection, flags, _])
                if protection & WRITABLE != 0 && flags & SHARED != 0 =>
            {
                Some(Limitation::Pages)
            }
            _ => None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Limitation::Foreign => {
                "system calls by the 32-bit convention: their numbers and structures are not decoded"
            }
            Limitation::Rings => {
                "io_uring: the entries of the queues, which are no system calls; preload the shim to see them"
            }
            Limitation::Pages => {
                "what is written to a shared mapping of a file: that is no system call; preload the shim to see it"
            }
        }
    }
}

/// What a process image is.
pub struct Process {
    /// Process id.
    pub pid: Tid,
    /// Its parent's, at the start of the image.
    pub ppid: Tid,
    /// When the image started, nanoseconds of the monotonic clock.
    pub start_ns: u64,
    /// How much of it is recorded; `None`: nothing.
    pub policy: Option<Policy>,
    /// Where files are mapped: start and end.
    mappings: BTreeMap<u64, u64>,
    /// `sa_flags` of the signals that have a handler.
    handlers: [Option<i64>; SIGNALS],
    /// What has been noted already.
    noted: Vec<Limitation>,
    /// The file of those of its threads that record; made for the first.
    file: OnceCell<Rc<ImageFile>>,
}

impl Process {
    /// An image of which everything is recorded, and which starts now.
    pub fn begin(pid: Tid, start_ns: u64) -> Process {
        Process {
            pid,
            ppid: id_in_status(pid, "PPid:").unwrap_or(0),
            start_ns,
            policy: Some(Policy::Everything),
            mappings: BTreeMap::new(),
            handlers: [None; SIGNALS],
            noted: Vec::new(),
            file: OnceCell::new(),
        }
    }

    /// The image's file.
    pub fn file(&self, folder: &Path) -> Result<Rc<ImageFile>, Error> {
        if let Some(file) = self.file.get() {
            return Ok(file.clone());
        }
        let file = Rc::new(ImageFile::create(folder, self.pid, self.start_ns)?);
        Ok(self.file.get_or_init(|| file).clone())
    }

    /// The image of a program that starts now, recorded as its environment wants it.
    pub fn of_program(pid: Tid, start_ns: u64) -> Process {
        Process { policy: chosen(pid), ..Process::begin(pid, start_ns) }
    }

    /// One that starts as a copy of this.
    pub fn fork(&self, pid: Tid, start_ns: u64) -> Process {
        let new = Process::begin(pid, start_ns);
        Process { policy: self.policy, mappings: self.mappings.clone(), handlers: self.handlers, ..new }
    }

    /// True for calls that are not recorded.
    pub fn leaves_out(&self, call: Call) -> bool {
        self.policy != Some(Policy::Everything) && call.layer() != Layer::Process
    }

    /// Follows a call that has succeeded.
    pub fn follow(&mut self, call: Call, result: i64, numbers: &[i64]) {
        match (call.effect(), numbers) {
            (Effect::Map, &[_, bytes, ..]) => self.map(result as u64, bytes as u64),
            (Effect::Unmap, &[address, bytes, ..]) => self.unmap(address as u64, bytes as u64),
            (Effect::Remap, &[old, old_bytes, new_bytes, ..]) => {
                self.unmap(old as u64, old_bytes as u64);
                self.map(result as u64, new_bytes as u64);
            }
            (Effect::SetAction, &[signal, handler, flags]) => {
                const FUNCTION: i64 = 2;
                if let Some(known) = self.handlers.get_mut(signal as usize) {
                    *known = (handler == FUNCTION).then_some(flags);
                }
            }
            _ => {}
        }
    }

    fn map(&mut self, address: u64, bytes: u64) {
        self.unmap(address, bytes);
        self.mappings.insert(address, end_of(address, bytes));
    }

    fn unmap(&mut self, address: u64, bytes: u64) {
        let end = end_of(address, bytes);
        while let Some((start, old_end)) = self.overlapping(address, end) {
            self.mappings.remove(&start);
            if start < address {
                self.mappings.insert(start, address);
            }
            if old_end > end {
                self.mappings.insert(end, old_end);
            }
        }
    }

    fn overlapping(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let (&first, &last) = self.mappings.range(..end).next_back()?;
        (last > start).then_some((first, last))
    }

    /// True when a file is mapped somewhere in this memory.
    pub fn maps_file(&self, address: u64, bytes: u64) -> bool {
        self.overlapping(address, end_of(address, bytes)).is_some()
    }

    /// `sa_flags`, if the signal has a handler.
    pub fn handler(&self, signal: i32) -> Option<i64> {
        self.handlers.get(signal as usize).copied().flatten()
    }

    /// Writes that something cannot be seen, once.
    pub fn note(&mut self, limitation: Limitation, file: &mut TraceFile) {
        if !self.noted.contains(&limitation) {
            self.noted.push(limitation);
            file.note(Call::Unobserved, 0, &[], &[limitation.text().as_bytes()]);
        }
    }
}

/// What the trace of an image begins with. All of it is asked for before the trace begins, since the image stands still
/// meanwhile.
pub struct Birth {
    ppid: Tid,
    texts: [Vec<u8>; 3],
    /// `None` where /proc does not tell.
    open: Option<Vec<Descriptor>>,
    more: bool,
}

impl Birth {
    /// Of a process.
    pub fn of(pid: Tid) -> Birth {
        let mut command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.truncate(MAX_TEXT_BYTES);
        command.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        command.truncate(command.trim_ascii_end().len());
        let fds = descriptors::open_descriptors(pid);
        let listed = |fds: &Vec<i32>| {
            fds.iter().take(MAX_INHERITED).map(|&fd| descriptors::descriptor(pid, fd)).collect()
        };
        Birth {
            ppid: id_in_status(pid, "PPid:").unwrap_or(0),
            texts: [link(pid, "exe"), link(pid, "cwd"), command],
            open: fds.as_ref().map(listed),
            more: fds.is_some_and(|fds| fds.len() > MAX_INHERITED),
        }
    }

    /// Writes it.
    pub fn record(&self, file: &mut TraceFile) {
        file.note(Call::ProcessStart, 0, &[self.ppid.into()], &self.texts.each_ref().map(Vec::as_slice));
        for descriptor in self.open.iter().flatten() {
            file.note(Call::InheritedFd, 0, &descriptor.numbers, &[&descriptor.path]);
        }
        let unlisted: &[u8] = match self.open {
            None => b"open descriptors at start: /proc is not readable",
            Some(_) if self.more => b"open descriptors at start: more than 4096, the rest not listed",
            Some(_) => return,
        };
        file.note(Call::Unobserved, 0, &[], &[unlisted]);
    }
}

/// How much the environment of a program that has just started wants to have recorded of it.
fn chosen(pid: Tid) -> Option<Policy> {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let entries = || environment.split(|&byte| byte == 0);
    let choice = Choice::of(|name| entries().find_map(|entry| entry.strip_prefix(name)?.strip_prefix(b"=")));
    (!choice.is_off()).then(|| choice.policy(&link(pid, "exe")))
}

fn link(pid: Tid, name: &str) -> Vec<u8> {
    fs::read_link(format!("/proc/{pid}/{name}")).map_or(Vec::new(), |path| path.into_os_string().into_vec())
}

/// The end of a stretch of memory; the kernel takes whole pages.
fn end_of(address: u64, bytes: u64) -> u64 {
    const PAGE: u64 = 4096;
    address.saturating_add(bytes.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX))
}

/// A number in `/proc/<tid>/status`, by the name of its line.
pub fn id_in_status(tid: Tid, name: &str) -> Option<Tid> {
    let text = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_split_and_joined() {
        let mut process = Process::begin(std::process::id() as Tid, 0);
        process.follow(Call::Mmap, 0x10000, &[3, 0x3001, 1, 1, 0]);
        assert!(process.maps_file(0x13000, 1) && !process.maps_file(0x14000, 0x1000));
        process.follow(Call::Munmap, 0, &[0x11000, 0x1000]);
        assert!(
            process.maps_file(0x10000, 1)
                && !process.maps_file(0x11000, 0x1000)
                && process.maps_file(0x12000, 1)
        );
        process.follow(Call::Mremap, 0x50000, &[0x12000, 0x2000, 0x4000, 1]);
        assert!(!process.maps_file(0x12000, 0x2000) && process.maps_file(0x53fff, 1));
        let child = process.fork(std::process::id() as Tid, 1);
        assert!(child.maps_file(0x10000, 1));
    }

    #[test]
    fn handlers_are_known() {
        let mut process = Process::begin(std::process::id() as Tid, 0);
        assert_eq!(process.handler(10), None);
        process.follow(Call::Sigaction, 0, &[10, 2, 7]);
        assert_eq!(process.handler(10), Some(7));
        process.follow(Call::Sigaction, 0, &[10, 1, 7]);
        assert_eq!(process.handler(10), None);
    }
}
