//! Calls of MPI on files, as a replay makes them again.

use super::{Communication, bytes};
use crate::follow::pass::Seen;
use crate::lower::files::{Evidence, FileTable};
use foldhash::HashMap;
use std::rc::Rc;
use syn_plan::{Datatype, FileCall, FileTransfer, Mpi, SELF};
use syn_trace::Call;
use syn_trace::calls::effect::{self, Effect};
use syn_trace::descriptors::Touched;

/// The files that a process has open through MPI, by numbers that are used again.
#[derive(Debug, Default)]
pub struct OpenFiles {
    by_handle: HashMap<i64, u32>,
    free: Vec<u32>,
    count: u32,
}

impl OpenFiles {
    /// A file is open under this handle; one that is used without having been opened is another.
    fn number(&mut self, handle: i64) -> u32 {
        if let Some(&number) = self.by_handle.get(&handle) {
            return number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.by_handle.insert(handle, number);
        number
    }

    fn close(&mut self, handle: i64) -> u32 {
        let number = self.number(handle);
        self.by_handle.remove(&handle);
        self.free.push(number);
        number
    }
}

impl Communication<'_> {
    /// What a replay does for a call on a file: nothing for those that failed, and for what is none.
    pub fn follow_file(&mut self, seen: &Seen<'_>, touched: &Touched, files: &mut FileTable) -> Option<Mpi> {
        let Effect::Mpi(form) = seen.event.call.effect() else { return None };
        if !seen.event.call.layer().is_mpi() || seen.event.result != 0 || !self.worlds.is_one(seen.process) {
            return None;
        }
        // A damaged trace may say anything.
        self.on_file(seen, form, touched, files).filter(|call| call.is_possible(self))
    }

    fn on_file(
        &mut self,
        seen: &Seen<'_>,
        form: effect::Mpi,
        touched: &Touched,
        files: &mut FileTable,
    ) -> Option<Mpi> {
        use effect::Mpi as Form;
        let (name, n) = (seen.event.call.name(), &seen.event.numbers);
        let opened = &mut self.files[seen.process as usize];
        Some(match form {
            Form::OpenFile => {
                let file = files.touch(&path(seen, touched)?, Evidence::Nothing)?;
                // Alone, where its communicator is not known.
                let comm = self.comm(seen.process, n[1]).unwrap_or(SELF);
                let opened = self.files[seen.process as usize].number(n[2]);
                Mpi::FileOpen { comm, file, opened, mode: n[0] as u32, hints: self.hints(seen) }
            }
            Form::CloseFile => Mpi::FileClose { opened: opened.close(n[0]) },
            Form::DeleteFile => {
                Mpi::FileDelete { file: files.touch(&path(seen, touched)?, Evidence::Nothing)? }
            }
            Form::ResizeFile => self.file_call(seen, n[1], n[0])?,
            Form::AskFile => self.file_call(seen, n[0], n[1])?,
            Form::ViewFile => {
                let opened = opened.number(n[3]);
                let made = self.told(seen, Call::MpiFileType);
                let is_one = |made: &Vec<u64>| Datatype::of(made).is_some_and(|made| made.is_bounded());
                let made = self.lists.number(made.filter(is_one).unwrap_or_default());
                let [from, etype, bytes] = [n[0].max(0) as u64, bytes(n[1]), bytes(n[2])];
                Mpi::FileView { opened, from, etype, bytes, made, hints: self.hints(seen) }
            }
            Form::SeekFile | Form::SeekSharedFile => Mpi::FileSeek {
                opened: opened.number(n[2]),
                distance: n[0],
                whence: n[1].clamp(0, 2) as u32,
                shared: matches!(form, Form::SeekSharedFile),
            },
            Form::TransferFile | Form::BeginTransferFile => Mpi::FileTransfer {
                how: FileTransfer::named(name)?,
                opened: opened.number(n[2]),
                offset: n[1].max(0) as u64,
                bytes: bytes(n[0]),
            },
            Form::EndTransferFile => {
                let (how, opened) = (FileTransfer::named(name)?, opened.number(n[0]));
                Mpi::FileTransfer { how, opened, offset: 0, bytes: 0 }
            }
            Form::TransferFileRequest => Mpi::FileItransfer {
                how: FileTransfer::named(name)?,
                opened: opened.number(n[2]),
                offset: n[1].max(0) as u64,
                bytes: bytes(n[0]),
                request: self.processes[seen.process as usize].begin(n[3], seen.thread, false),
            },
            _ => return None,
        })
    }

    fn file_call(&mut self, seen: &Seen<'_>, handle: i64, number: i64) -> Option<Mpi> {
        let opened = self.files[seen.process as usize].number(handle);
        let (how, number) = (FileCall::named(seen.event.call.name())?, number.max(0) as u64);
        Some(Mpi::FileCall { how, opened, number, hints: self.hints(seen) })
    }

    fn hints(&mut self, seen: &Seen<'_>) -> u32 {
        let hints = self.told(seen, Call::MpiFileHints).unwrap_or_default();
        self.lists.number(hints)
    }

    /// The numbers of a note of this kind behind the call.
    pub(super) fn told(&self, seen: &Seen<'_>, note: Call) -> Option<Vec<u64>> {
        let told = self.matching.told.get(&((seen.thread, seen.record), note))?;
        Some(told.iter().map(|&number| number as u64).collect())
    }
}

/// The path of a file, without the name of a kind of file system in front, as in `ufs:data`.
fn path(seen: &Seen<'_>, touched: &Touched) -> Option<Rc<str>> {
    let path = touched.path.as_ref()?;
    let text = seen.event.texts[0].bytes();
    let text = String::from_utf8_lossy(&text);
    let Some((system, rest)) = text.split_once(':').filter(|(system, _)| !system.contains('/')) else {
        return Some(path.clone());
    };
    match rest.starts_with('/') {
        true => Some(rest.into()),
        false => Some(path.replacen(&format!("/{system}:"), "/", 1).into()),
    }
}
