//! Calls on files.
//!
//! MPI opens files by name, so that they are looked up by it and not beneath an open folder: names are those of the plan, which
//! do not climb, below the fresh folder of this replay. Plans that make symbolic links do not come here (`stays_below`).

#![allow(unsafe_code)]

use super::datatypes::Type;
use super::engine::Engine;
use mpi::ffi::{self, MPI_File, MPI_Info, MPI_Offset};
use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use syn_plan::{Datatype, FileCall, FileId, FileTransfer, Mpi};

/// Modes in the order of their bits in a plan.
const MODES: [u32; 9] = [
    ffi::MPI_MODE_CREATE,
    ffi::MPI_MODE_RDONLY,
    ffi::MPI_MODE_WRONLY,
    ffi::MPI_MODE_RDWR,
    ffi::MPI_MODE_DELETE_ON_CLOSE,
    ffi::MPI_MODE_UNIQUE_OPEN,
    ffi::MPI_MODE_EXCL,
    ffi::MPI_MODE_APPEND,
    ffi::MPI_MODE_SEQUENTIAL,
];

/// From where a pointer is moved, by number in a plan.
const WHENCE: [u32; 3] = [ffi::MPI_SEEK_SET, ffi::MPI_SEEK_CUR, ffi::MPI_SEEK_END];

/// What a transfer moves, and where.
struct Moved {
    how: FileTransfer,
    at: MPI_Offset,
    count: c_int,
    memory: *mut c_void,
}

impl Engine<'_> {
    /// Makes a call on a file.
    ///
    /// # Safety
    /// The plan has been checked, and the buffers are made for its calls.
    pub(super) unsafe fn on_file(&self, call: &Mpi) {
        // SAFETY: as the caller vouches, here and below.
        let result = unsafe {
            match *call {
                Mpi::FileOpen { comm, file, opened, mode, hints } => {
                    let name = self.name(file);
                    let bits = MODES.iter().zip(0..).filter(|&(_, bit)| mode >> bit & 1 != 0);
                    let mode = bits.fold(0, |modes, (mode, _)| modes | mode) as c_int;
                    let mut handle = ffi::RSMPI_FILE_NULL;
                    let made = self.with_hints(hints, |info| {
                        ffi::MPI_File_open(self.comm(comm), name.as_ptr(), mode, info, &mut handle)
                    });
                    let mut state = self.state();
                    if state.files.len() <= opened as usize {
                        state.files.resize(opened as usize + 1, ffi::RSMPI_FILE_NULL);
                    }
                    state.files[opened as usize] = handle;
                    made
                }
                Mpi::FileDelete { file } => {
                    ffi::MPI_File_delete(self.name(file).as_ptr(), ffi::RSMPI_INFO_NULL)
                }
                Mpi::FileLeave | Mpi::FileEnter => 0,
                Mpi::FileClose { opened } => {
                    let mut file = self.file(opened);
                    if file == ffi::RSMPI_FILE_NULL {
                        return;
                    }
                    self.state().files[opened as usize] = ffi::RSMPI_FILE_NULL;
                    ffi::MPI_File_close(&mut file)
                }
                Mpi::FileView { opened, .. }
                | Mpi::FileSeek { opened, .. }
                | Mpi::FileCall { opened, .. }
                | Mpi::FileTransfer { opened, .. }
                | Mpi::FileItransfer { opened, .. } => match self.file(opened) {
                    // One that was open before anything was recorded.
                    file if file == ffi::RSMPI_FILE_NULL => return,
                    file => self.on_open_file(call, file),
                },
                _ => return,
            }
        };
        if result != 0 {
            self.fail(&format!("{call} failed: {}", error_text(result)));
        }
    }

    unsafe fn on_open_file(&self, call: &Mpi, file: MPI_File) -> c_int {
        let of = |how: FileTransfer, offset: u64, bytes: u64, memory: *mut c_void| Moved {
            how,
            at: offset as MPI_Offset,
            count: bytes as c_int,
            memory: if how.writes() { self.buffers.send.at() } else { memory },
        };
        // SAFETY: as the caller vouches.
        unsafe {
            match *call {
                Mpi::FileView { from, etype, bytes, made, hints, .. } => {
                    let made = &self.plan.lists[made as usize];
                    let filetype = match Datatype::of(made) {
                        Some(datatype) => Type::of(&datatype),
                        None => Type::of_bytes(bytes as c_int),
                    };
                    let (filetype, element) =
                        (filetype.committed(), Type::of_bytes(etype as c_int).committed());
                    let (handles, native) = ((element.handle, filetype.handle), c"native".as_ptr());
                    self.with_hints(hints, |info| {
                        let from = from as MPI_Offset;
                        ffi::MPI_File_set_view(file, from, handles.0, handles.1, native, info)
                    })
                }
                Mpi::FileSeek { distance, whence, shared, .. } => {
                    let seek = if shared { ffi::MPI_File_seek_shared } else { ffi::MPI_File_seek };
                    let whence = WHENCE.get(whence as usize).copied().unwrap_or(ffi::MPI_SEEK_SET);
                    seek(file, distance as MPI_Offset, whence as c_int)
                }
                Mpi::FileCall { how, number, hints, .. } => {
                    let mut place: MPI_Offset = 0;
                    match how {
                        FileCall::GetSize => ffi::MPI_File_get_size(file, &mut place),
                        FileCall::GetPositionShared => ffi::MPI_File_get_position_shared(file, &mut place),
                        FileCall::Sync => ffi::MPI_File_sync(file),
                        FileCall::SetAtomicity => ffi::MPI_File_set_atomicity(file, number as c_int),
                        FileCall::SetSize => ffi::MPI_File_set_size(file, number as MPI_Offset),
                        FileCall::Preallocate => ffi::MPI_File_preallocate(file, number as MPI_Offset),
                        FileCall::SetInfo => {
                            self.with_hints(hints, |info| ffi::MPI_File_set_info(file, info))
                        }
                    }
                }
                Mpi::FileTransfer { how, offset, bytes, .. } => {
                    let mut none = ffi::RSMPI_REQUEST_NULL;
                    of(how, offset, bytes, self.buffers.receive.at()).make(file, &mut none)
                }
                Mpi::FileItransfer { how, offset, bytes, request, .. } => {
                    let mut new = ffi::RSMPI_REQUEST_NULL;
                    let result =
                        of(how, offset, bytes, self.buffers.of_request(request)).make(file, &mut new);
                    self.keep(request, new);
                    result
                }
                _ => 0,
            }
        }
    }

    fn file(&self, opened: u32) -> MPI_File {
        // SAFETY: a constant of the MPI that is linked.
        let null = unsafe { ffi::RSMPI_FILE_NULL };
        self.state().files.get(opened as usize).copied().unwrap_or(null)
    }

    /// Where a file is.
    fn name(&self, file: FileId) -> CString {
        let (folder, paths) = self.places;
        let name = [folder.as_os_str().as_bytes(), b"/", paths.at(file).whole.to_bytes()].concat();
        CString::new(name).unwrap_or_default()
    }

    /// Calls with an info object that holds these hints.
    unsafe fn with_hints(&self, hints: u32, call: impl FnOnce(MPI_Info) -> c_int) -> c_int {
        let text: Vec<u8> = self.plan.lists[hints as usize].iter().map(|&byte| byte as u8).collect();
        // SAFETY: as the caller vouches; MPI copies keys and values.
        unsafe {
            let mut info = ffi::RSMPI_INFO_NULL;
            if text.is_empty() {
                return call(info);
            }
            ffi::MPI_Info_create(&mut info);
            for line in text.split(|&byte| byte == b'\n') {
                let mut parts = line.splitn(2, |&byte| byte == b'=').map(CString::new);
                if let (Some(Ok(key)), Some(Ok(value))) = (parts.next(), parts.next()) {
                    ffi::MPI_Info_set(info, key.as_ptr(), value.as_ptr());
                }
            }
            let result = call(info);
            ffi::MPI_Info_free(&mut info);
            result
        }
    }
}

impl Moved {
    unsafe fn make(&self, file: MPI_File, request: &mut ffi::MPI_Request) -> c_int {
        let Moved { how, at, count, memory } = *self;
        // SAFETY: there is room for so many bytes, until the request is complete.
        unsafe {
            let (byte, ignored) = (ffi::RSMPI_UINT8_T, ffi::RSMPI_STATUS_IGNORE);
            match how {
                FileTransfer::ReadAt => ffi::MPI_File_read_at(file, at, memory, count, byte, ignored),
                FileTransfer::ReadAtAll => ffi::MPI_File_read_at_all(file, at, memory, count, byte, ignored),
                FileTransfer::Read => ffi::MPI_File_read(file, memory, count, byte, ignored),
                FileTransfer::ReadAll => ffi::MPI_File_read_all(file, memory, count, byte, ignored),
                FileTransfer::ReadShared => ffi::MPI_File_read_shared(file, memory, count, byte, ignored),
                FileTransfer::ReadOrdered => ffi::MPI_File_read_ordered(file, memory, count, byte, ignored),
                FileTransfer::WriteAt => ffi::MPI_File_write_at(file, at, memory, count, byte, ignored),
                FileTransfer::WriteAtAll => {
                    ffi::MPI_File_write_at_all(file, at, memory, count, byte, ignored)
                }
                FileTransfer::Write => ffi::MPI_File_write(file, memory, count, byte, ignored),
                FileTransfer::WriteAll => ffi::MPI_File_write_all(file, memory, count, byte, ignored),
                FileTransfer::WriteShared => ffi::MPI_File_write_shared(file, memory, count, byte, ignored),
                FileTransfer::WriteOrdered => ffi::MPI_File_write_ordered(file, memory, count, byte, ignored),
                FileTransfer::ReadAtAllBegin => {
                    ffi::MPI_File_read_at_all_begin(file, at, memory, count, byte)
                }
                FileTransfer::ReadAtAllEnd => ffi::MPI_File_read_at_all_end(file, memory, ignored),
                FileTransfer::ReadAllBegin => ffi::MPI_File_read_all_begin(file, memory, count, byte),
                FileTransfer::ReadAllEnd => ffi::MPI_File_read_all_end(file, memory, ignored),
                FileTransfer::ReadOrderedBegin => ffi::MPI_File_read_ordered_begin(file, memory, count, byte),
                FileTransfer::ReadOrderedEnd => ffi::MPI_File_read_ordered_end(file, memory, ignored),
                FileTransfer::WriteAtAllBegin => {
                    ffi::MPI_File_write_at_all_begin(file, at, memory, count, byte)
                }
                FileTransfer::WriteAtAllEnd => ffi::MPI_File_write_at_all_end(file, memory, ignored),
                FileTransfer::WriteAllBegin => ffi::MPI_File_write_all_begin(file, memory, count, byte),
                FileTransfer::WriteAllEnd => ffi::MPI_File_write_all_end(file, memory, ignored),
                FileTransfer::WriteOrderedBegin => {
                    ffi::MPI_File_write_ordered_begin(file, memory, count, byte)
                }
                FileTransfer::WriteOrderedEnd => ffi::MPI_File_write_ordered_end(file, memory, ignored),
                FileTransfer::IreadAt => ffi::MPI_File_iread_at(file, at, memory, count, byte, request),
                FileTransfer::IreadAtAll => {
                    ffi::MPI_File_iread_at_all(file, at, memory, count, byte, request)
                }
                FileTransfer::Iread => ffi::MPI_File_iread(file, memory, count, byte, request),
                FileTransfer::IreadAll => ffi::MPI_File_iread_all(file, memory, count, byte, request),
                FileTransfer::IreadShared => ffi::MPI_File_iread_shared(file, memory, count, byte, request),
                FileTransfer::IwriteAt => ffi::MPI_File_iwrite_at(file, at, memory, count, byte, request),
                FileTransfer::IwriteAtAll => {
                    ffi::MPI_File_iwrite_at_all(file, at, memory, count, byte, request)
                }
                FileTransfer::Iwrite => ffi::MPI_File_iwrite(file, memory, count, byte, request),
                FileTransfer::IwriteAll => ffi::MPI_File_iwrite_all(file, memory, count, byte, request),
                FileTransfer::IwriteShared => ffi::MPI_File_iwrite_shared(file, memory, count, byte, request),
            }
        }
    }
}

/// What MPI says of an error.
fn error_text(code: c_int) -> String {
    let mut text = vec![0u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length = 0;
    // SAFETY: as much room as MPI asks for.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    text.truncate(length.max(0) as usize);
    String::from_utf8_lossy(&text).into_owned()
}
