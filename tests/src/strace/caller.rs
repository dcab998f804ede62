//! Who made a system call: in which process and program, and out of whose code.

use super::line::{Made, Syscall};
use crate::shim;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How far the loader's code reaches from any of its instructions, at most, bytes.
const LOADER_BYTES: u64 = 256 << 10;

/// A thread and what it runs in.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// The file of the program; of a script, its interpreter's.
    pub program: PathBuf,
    /// The current folder.
    pub folder: PathBuf,
    /// It runs in its maker's memory until it becomes another program, as the child of a `vfork` does.
    pub borrows_memory: bool,
    /// The address of the first instruction that made a system call in this program: one of the loader's.
    loader: Option<u64>,
    shim: Range<u64>,
    /// What has been mapped since the program began: the loader is not among it.
    mapped: Vec<Range<u64>>,
}

/// Whose code a call came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// The program, or a library on its behalf.
    Program,
    /// The dynamic loader.
    Loader,
    /// The shim.
    Shim,
}

impl Caller {
    /// The first process, before it becomes the program.
    pub(super) fn first(pid: u32, folder: &Path) -> Caller {
        Caller {
            pid,
            tid: pid,
            program: PathBuf::new(),
            folder: folder.to_owned(),
            borrows_memory: false,
            loader: None,
            shim: 0..0,
            mapped: Vec::new(),
        }
    }

    /// True for a call by an instruction of the program's own, past libc and all other libraries: a preloaded one is not
    /// asked then. False where there is no shim that could have been asked.
    pub fn is_past_libraries(&self, call: &Syscall) -> bool {
        let by_program = self.maker(call) == Maker::Program && !self.is_mapped(call.instruction);
        by_program && !self.shim.is_empty()
    }

    fn is_mapped(&self, address: u64) -> bool {
        self.mapped.iter().any(|range| range.contains(&address))
    }

    /// Whose code this call of the thread came from.
    pub fn maker(&self, call: &Syscall) -> Maker {
        let at = call.instruction;
        let near = |loader: u64| at.abs_diff(loader) < LOADER_BYTES;
        if self.shim.contains(&at) {
            Maker::Shim
        } else if self.loader.is_some_and(near) && !self.is_mapped(at) {
            Maker::Loader
        } else {
            Maker::Program
        }
    }

    /// Before the call is judged: the first one of a program is its loader's.
    pub(super) fn notice(&mut self, call: &Syscall) {
        let is_new = self.loader.is_none() && !self.program.as_os_str().is_empty();
        if is_new && !self.borrows_memory {
            self.loader = Some(if has_loader(&self.program) { call.instruction } else { 0 });
        }
    }

    /// After the call: what it changed.
    pub(super) fn follow(&mut self, call: &Syscall) {
        match call.name.as_str() {
            "execve" | "execveat" if call.result == 0 => self.become_program(call),
            "chdir" if call.result == 0 => self.folder.push(call.text(0).unwrap_or_default()),
            "fchdir" if call.result == 0 => {
                self.folder = call.descriptor(0).map_or("", |at| at.object).into()
            }
            "mmap" if call.result != -1 => {
                let (from, bytes) = (call.result as u64, call.number(1).unwrap_or(0) as u64);
                let range = from..from + bytes;
                let file = call.descriptor(4).map_or("", |descriptor| descriptor.object);
                if call.argument(2).contains("PROT_EXEC") && Path::new(file) == shim() {
                    self.shim = range.clone();
                }
                self.mapped.push(range);
            }
            _ => {}
        }
    }

    fn become_program(&mut self, call: &Syscall) {
        // fexecve(3): the program is the descriptor's file.
        let file = match call.name.as_str() {
            "execve" => call.text(0),
            _ => call.descriptor(0).map(|descriptor| descriptor.object),
        };
        let program = interpreter(self.folder.join(file.unwrap_or_default()));
        *self = Caller { program, ..Caller::first(self.pid, &self.folder) };
    }

    /// A thread that this one makes.
    pub(super) fn child(&self, made: &Made) -> Caller {
        let mut child = self.clone();
        child.tid = made.tid;
        child.pid = if made.is_thread { self.pid } else { made.tid };
        child.borrows_memory = made.borrows_memory;
        child
    }
}

/// The program that runs when this file is executed, whatever links led to it.
fn interpreter(file: PathBuf) -> PathBuf {
    let script = beginning(&file).strip_prefix(b"#!").and_then(|text| {
        let line = text.split(|&byte| byte == b'\n').next()?;
        std::str::from_utf8(line).ok()?.split_whitespace().next().map(PathBuf::from)
    });
    let program = script.unwrap_or(file);
    program.canonicalize().unwrap_or(program)
}

/// False for what is linked statically: it has no interpreter segment. A program that has been removed since is taken for
/// an ordinary one.
fn has_loader(program: &Path) -> bool {
    const PT_INTERP: usize = 3;
    let elf = beginning(program);
    if elf.is_empty() {
        return true;
    }
    let number = |at: usize, bytes: usize| {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(elf.get(at..at + bytes)?);
        Some(u64::from_le_bytes(number) as usize)
    };
    // ELF-64: e_phoff, e_phentsize, e_phnum; p_type comes first in a program header.
    let headers = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let (offset, size, count) = headers().unwrap_or((0, 0, 0));
    (0..count).any(|index| number(offset + index * size, 4) == Some(PT_INTERP))
}

/// The first page of a file.
fn beginning(file: &Path) -> Vec<u8> {
    let mut page = Vec::new();
    let read = File::open(file).and_then(|file| file.take(4096).read_to_end(&mut page));
    if read.is_ok() { page } else { Vec::new() }
}
