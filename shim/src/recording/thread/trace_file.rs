//! The file into which this process records, and children that it forks. It is opened once, when there is one thread; from then
//! on threads take chunks of it ([`super::chunk`]) without a descriptor.

use super::state::PAGE;
use crate::core::procfs::decimal;
use crate::core::sys;
use crate::recording::process;
use crate::recording::thread::private_table;
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use syn_trace::chunks::{FileHead, UNIT_BYTES};
use syn_trace::header::{MAGIC, VERSION};

/// Units of the file's first chunk: the shortest processes need no more. The blocks are reserved through the descriptor that is open.
pub const FIRST_UNITS: usize = 1;
/// Bytes of a new file: a hole, which needs no blocks. It grows by what it has, within these bounds.
const GROW_BYTES: (u64, u64) = (1 << 20, 64 << 20);
/// The longest name of a file, its final zero included.
const NAME_BYTES: usize = 48;

/// The first page of the file, which stays mapped, also in children; null while there is none.
pub static HEAD: AtomicPtr<FileHead> = AtomicPtr::new(core::ptr::null_mut());
/// True while some thread makes the file.
static BEING_MADE: AtomicBool = AtomicBool::new(false);
static NAME: Name = Name(UnsafeCell::new([0; NAME_BYTES]));

struct Name(UnsafeCell<[u8; NAME_BYTES]>);
// SAFETY: written only by the thread that makes the file, and read only once `HEAD` says that it is made.
unsafe impl Sync for Name {}

/// In a forked child, where the thread that was making the file is not.
pub fn in_forked_child() {
    BEING_MADE.store(false, Ordering::Relaxed);
}

/// Before something after which the file cannot be made longer: makes it as long as it may have to be.
pub fn lengthen_ahead(room: &mut [u8]) {
    const AHEAD_UNITS: u64 = (1 << 30) / UNIT_BYTES as u64;
    let head = HEAD.load(Ordering::Acquire);
    // SAFETY: as in `take`.
    let Some(head) = (unsafe { head.as_ref() }) else { return };
    let taken = head.taken.load(Ordering::Relaxed);
    // Servers change their user at every request.
    if head.units.load(Ordering::Relaxed) < taken + AHEAD_UNITS / 2 {
        let _ = lengthen(room, head, taken + AHEAD_UNITS);
    }
}

/// Makes the file, unless another thread is about to: where its head is mapped, and behind it the first chunk; `mapped` bytes in
/// all.
#[unsafe(link_section = ".text.startup")]
pub fn make_once(room: &mut [u8], mapped: usize) -> Result<*mut u8, isize> {
    if BEING_MADE.swap(true, Ordering::Acquire) {
        return Err(-(libc::EAGAIN as isize));
    }
    // SAFETY: `HEAD` is null, and this thread alone makes the file.
    write_name(unsafe { &mut *NAME.0.get() }, process::pid(), process::start_ns());
    let made = private_table::run(|| create(room, mapped));
    BEING_MADE.store(false, Ordering::Release);
    made
}

/// Creates the file, within [`private_table::run`].
#[inline(never)]
#[unsafe(link_section = ".text.startup")]
fn create(room: &mut [u8], mapped: usize) -> Result<*mut u8, isize> {
    let fd = open(room, libc::O_CREAT | libc::O_EXCL)?;
    // SAFETY: the descriptor is ours.
    let made = unsafe { make(fd, mapped) };
    if made.is_err() {
        // SAFETY: the path ends with a zero byte; the file is ours and empty.
        process::with_path(room, name(), |path| Some(unsafe { sys::unlink(path) }));
    }
    made
}

/// Gives the new file its length, its head and the blocks of its first chunk; closes it.
///
/// # Safety
/// The descriptor must be ours.
#[unsafe(link_section = ".text.startup")]
unsafe fn make(fd: c_int, mapped: usize) -> Result<*mut u8, isize> {
    const RESERVED: usize = (1 + FIRST_UNITS) * UNIT_BYTES;
    let length = GROW_BYTES.0.min(sys::file_limit() / UNIT_BYTES as u64 * UNIT_BYTES as u64);
    // SAFETY: as the caller vouches. Nobody else knows the file, so that nothing is cut off here.
    unsafe {
        let sized =
            if length < RESERVED as u64 { -(libc::EFBIG as isize) } else { sys::ftruncate(fd, length) };
        let made = if sized < 0 { Err(sized) } else { map_and_fill(fd, RESERVED, mapped) };
        sys::close(fd);
        let at = made?;
        let head = at.cast::<FileHead>();
        (*head).version = VERSION;
        (*head).unit_bytes = UNIT_BYTES as u32;
        (*head).taken.store(1 + FIRST_UNITS as u64, Ordering::Relaxed);
        (*head).units.store(length / UNIT_BYTES as u64, Ordering::Relaxed);
        (*head).magic.store(u64::from_le_bytes(MAGIC), Ordering::Release);
        HEAD.store(head, Ordering::Release);
        Ok(at)
    }
}

/// Makes the file at least `least` units long. It never gets shorter, whatever other processes do at the same time.
pub fn lengthen(room: &mut [u8], head: &FileHead, least: u64) -> Result<(), isize> {
    let now = head.units.load(Ordering::Relaxed) * UNIT_BYTES as u64;
    let least = least * UNIT_BYTES as u64;
    let most = sys::file_limit() / UNIT_BYTES as u64 * UNIT_BYTES as u64;
    let wanted = least.max(now + now.clamp(GROW_BYTES.0, GROW_BYTES.1)).min(most);
    if wanted < least {
        return Err(-(libc::EFBIG as isize));
    }
    let length = private_table::run(|| {
        let fd = open(room, libc::O_APPEND)?;
        // SAFETY: the descriptor is ours.
        unsafe {
            let mut length = Ok(wanted);
            let last = wanted - PAGE as u64;
            match sys::fallocate(fd, 0, last, PAGE as u64) {
                0 => {}
                error if is_unknown(error) => length = append_zeros(fd, (now + GROW_BYTES.0).max(least)),
                error => length = Err(error),
            }
            sys::close(fd);
            length
        }
    })?;
    head.units.fetch_max(length / UNIT_BYTES as u64, Ordering::AcqRel);
    Ok(())
}

/// For file systems without fallocate(2).
///
/// # Safety
/// The descriptor is ours, and appends.
unsafe fn append_zeros(fd: c_int, length: u64) -> Result<u64, isize> {
    // SAFETY: as the caller vouches; ZEROS is a page long.
    unsafe {
        loop {
            let have = sys::lseek(fd, 0, libc::SEEK_END).max(0) as u64;
            if have >= length {
                return Ok(have);
            }
            let wrote = sys::write(fd, ZEROS.as_ptr(), PAGE.min((length - have) as usize));
            if wrote <= 0 {
                return Err(wrote.min(-1));
            }
        }
    }
}

static ZEROS: [u8; PAGE] = [0; PAGE];

fn is_unknown(error: isize) -> bool {
    error == -(libc::EOPNOTSUPP as isize) || error == -(libc::ENOSYS as isize)
}

/// Opens the file, within [`private_table::run`].
#[unsafe(link_section = ".text.startup")]
pub fn open(room: &mut [u8], flags: c_int) -> Result<c_int, isize> {
    let flags = flags | libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let opened = process::with_path(room, name(), |path| {
        // SAFETY: the path ends with a zero byte.
        Some(unsafe { sys::openat(libc::AT_FDCWD, path, flags, 0o666) })
    });
    match opened {
        Some(fd) if fd >= 0 => Ok(fd as c_int),
        Some(error) => Err(error),
        None => Err(-(libc::ENAMETOOLONG as isize)),
    }
}

/// Maps a chunk through a descriptor, which is closed.
pub fn allocate_and_map(fd: c_int, unit: u64, bytes: usize) -> Result<*mut u8, isize> {
    // SAFETY: the descriptor is ours, and so is the chunk.
    unsafe {
        let offset = unit * UNIT_BYTES as u64;
        let mapped = allocate(fd, offset, bytes).and_then(|()| map_at(fd, offset, bytes));
        sys::close(fd);
        mapped
    }
}

/// Maps the file, and has its first `bytes` be there, blocks and pages, by one call (Linux 5.14; before, by a reservation).
///
/// # Safety
/// The descriptor is ours, and the file empty.
unsafe fn map_and_fill(fd: c_int, bytes: usize, mapped: usize) -> Result<*mut u8, isize> {
    // SAFETY: as the caller vouches; what is unmapped was just mapped.
    unsafe {
        let at = map_at(fd, 0, mapped)?;
        // No reading ahead: behind what is taken there is nothing. Later mappings are like this one.
        sys::madvise(at as usize, mapped, libc::MADV_RANDOM);
        match sys::madvise(at as usize, bytes, libc::MADV_POPULATE_WRITE) {
            0 => Ok(at),
            // What is mapped stays as it is, above blocks that are there now.
            error if error == -(libc::EINVAL as isize) && allocate(fd, 0, bytes).is_ok() => Ok(at),
            error => {
                sys::munmap(at as usize, mapped);
                Err(error)
            }
        }
    }
}

/// Maps so many bytes of the file.
///
/// # Safety
/// The descriptor is ours.
unsafe fn map_at(fd: c_int, offset: u64, bytes: usize) -> Result<*mut u8, isize> {
    // SAFETY: a new shared mapping disturbs nothing.
    match unsafe { sys::mmap(0, bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd, offset) } {
        error if error <= 0 => Err(error),
        address => Ok(address as *mut u8),
    }
}

/// Reserves the blocks of a part of the file that nobody else uses.
///
/// # Safety
/// The descriptor is ours.
unsafe fn allocate(fd: c_int, offset: u64, bytes: usize) -> Result<(), isize> {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut reserved = sys::fallocate(fd, 0, offset, bytes as u64);
        if is_unknown(reserved) {
            let pages = (offset..offset + bytes as u64).step_by(PAGE);
            let mut written = pages.map(|at| sys::pwrite(fd, ZEROS.as_ptr(), PAGE, at));
            reserved = written.find(|&wrote| wrote != PAGE as isize).map_or(0, |wrote| wrote.min(-1));
        }
        if reserved < 0 { Err(reserved) } else { Ok(()) }
    }
}

/// The file's name, up to its final zero.
fn name() -> &'static [u8] {
    // SAFETY: it is written before there is a file, by the thread that makes it.
    unsafe { &*NAME.0.get() }
}

/// `<pid>-<start, hexadecimal>.trace` and zeros.
fn write_name(name: &mut [u8; NAME_BYTES], pid: u32, start: u64) {
    *name = [0; NAME_BYTES];
    let mut at = 0;
    let mut put = |text: &[u8]| {
        name[at..at + text.len()].copy_from_slice(text);
        at += text.len();
    };
    let mut digits = [0; 20];
    put(decimal(pid.into(), &mut digits));
    put(b"-");
    let mut hexadecimal = [0; 16];
    for (index, digit) in hexadecimal.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(start >> (60 - 4 * index)) as usize & 15];
    }
    put(&hexadecimal);
    put(b".trace");
}
