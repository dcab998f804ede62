//! The few files of `/proc` that are read again and again: parsed in place, without a copy for each field.

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Resource, getrlimit};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of a page, bytes.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Length of a clock tick, nanoseconds.
pub fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}

/// Reads small files into one buffer.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: Vec<u8>,
}

/// Files of `/proc` that are read here end within this.
const LARGEST: usize = 8192;

impl Reader {
    /// A file's text; none when it is gone or may not be read.
    pub fn read(&mut self, path: &str) -> Option<&str> {
        self.try_read(path).ok()
    }

    /// The same, with the reason.
    pub fn try_read(&mut self, path: &str) -> rustix::io::Result<&str> {
        self.buffer.resize(LARGEST, 0);
        let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut len = 0;
        while len < LARGEST {
            match rustix::io::read(&file, &mut self.buffer[len..])? {
                0 => break,
                more => len += more,
            }
        }
        Ok(self.text(len))
    }

    /// Names of processes are any bytes, and are cut at the fifteenth: what is no text becomes a question mark.
    fn text(&mut self, len: usize) -> &str {
        let text = &mut self.buffer[..len];
        let mut from = 0;
        while let Err(error) = std::str::from_utf8(&text[from..]) {
            let wrong = from + error.valid_up_to();
            from = error.error_len().map_or(len, |bytes| wrong + bytes);
            text[wrong..from].fill(b'?');
        }
        std::str::from_utf8(text).unwrap_or_default()
    }
}

/// A file of `/proc` that stays open between two readings: finding it by its name again costs more than reading it.
#[derive(Debug, Default)]
pub struct Kept(Option<OwnedFd>);

/// Files that are kept open, and how many may be: others are opened for each reading.
static KEPT: AtomicU64 = AtomicU64::new(0);
const MOST_KEPT: u64 = 256;

impl Kept {
    /// Its text now. `path` is asked for when it is not open, or belongs to a process that is gone.
    ///
    /// # Errors
    /// When it is gone or may not be read.
    pub fn read<'a>(
        &mut self,
        reader: &'a mut Reader,
        path: impl Fn() -> String,
    ) -> rustix::io::Result<&'a str> {
        reader.buffer.resize(LARGEST, 0);
        if let Some(file) = &self.0 {
            // The kernel writes such a file whole into one reading.
            if let Ok(len) = rustix::io::pread(file, &mut reader.buffer[..], 0) {
                return Ok(reader.text(len));
            }
            self.close();
        }
        if KEPT.load(Ordering::Relaxed) >= most_kept() {
            return reader.try_read(&path());
        }
        let file = openat(CWD, path(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let len = rustix::io::pread(&file, &mut reader.buffer[..], 0)?;
        self.0 = Some(file);
        KEPT.fetch_add(1, Ordering::Relaxed);
        Ok(reader.text(len))
    }

    fn close(&mut self) {
        if self.0.take().is_some() {
            KEPT.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.close();
    }
}

/// Most of the descriptors that this process may have are left for others.
fn most_kept() -> u64 {
    getrlimit(Resource::Nofile).current.map_or(MOST_KEPT, |most| MOST_KEPT.min(most / 4))
}

/// `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stat {
    /// Name of the program, at most 15 bytes.
    pub name: String,
    /// R running, S sleeping, D waiting for a device, Z ended, and others.
    pub state: char,
    /// Parent.
    pub ppid: i32,
    /// Page faults without a device; of children waited for.
    pub faults: [u64; 2],
    /// Clock ticks in the kernel; of children waited for.
    pub system_ticks: [u64; 2],
    /// Clock ticks in all; of children waited for.
    pub ticks: [u64; 2],
    /// Threads.
    pub threads: u64,
    /// Start, clock ticks since the machine started: with the process id it names the process.
    pub start_ticks: u64,
    /// Resident pages.
    pub resident_pages: u64,
}

impl Stat {
    /// None for what is not such a file.
    pub fn parse(text: &str) -> Option<Stat> {
        // The name may hold blanks and parentheses.
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let fields: Vec<&str> = text.get(close + 2..)?.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok());
        // Field 3 of the manual page is the first one here.
        Some(Stat {
            name: text.get(open + 1..close)?.to_owned(),
            state: fields.first()?.chars().next()?,
            ppid: fields.get(1)?.parse().ok()?,
            faults: [number(7)?, number(8)?],
            system_ticks: [number(12)?, number(14)?],
            ticks: [number(11)? + number(12)?, number(13)? + number(14)?],
            threads: number(17)?,
            start_ticks: number(19)?,
            resident_pages: number(21)?,
        })
    }
}

/// `/proc/PID/io` (proc_pid_io(5)): the process's, its ended threads' and its waited-for children's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Bytes that read calls returned, write calls took.
    pub bytes: [u64; 2],
    /// Read and write calls.
    pub calls: [u64; 2],
    /// Bytes from and to devices.
    pub device: [u64; 2],
}

impl Io {
    /// None for what is not such a file.
    pub fn parse(text: &str) -> Option<Io> {
        Some(Io {
            bytes: [field(text, "rchar:")?, field(text, "wchar:")?],
            calls: [field(text, "syscr:")?, field(text, "syscw:")?],
            device: [field(text, "\nread_bytes:")?, field(text, "\nwrite_bytes:")?],
        })
    }

    /// The six figures together with another's.
    pub fn plus(self, other: Io) -> Io {
        self.with(other, u64::saturating_add)
    }

    /// What is left without another's.
    pub fn minus(self, other: Io) -> Io {
        self.with(other, u64::saturating_sub)
    }

    fn with(self, other: Io, both: impl Fn(u64, u64) -> u64) -> Io {
        let pair = |a: [u64; 2], b: [u64; 2]| [both(a[0], b[0]), both(a[1], b[1])];
        Io {
            bytes: pair(self.bytes, other.bytes),
            calls: pair(self.calls, other.calls),
            device: pair(self.device, other.device),
        }
    }
}

/// The number behind `name` in a file of lines with names; 'kB' and the like are not looked at.
pub fn field<T: FromStr>(text: &str, name: &str) -> Option<T> {
    text[text.find(name)? + name.len()..].split_ascii_whitespace().next()?.parse().ok()
}

/// Process ids among the names in a folder of `/proc`.
pub fn numbers_in(folder: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_do_not_shift_the_fields() {
        let text = "7 (a) b (c) R 3 7 7 0 -1 4194304 11 12 0 0 21 22 23 24 20 0 5 0 99 4096 33 0";
        let stat = Stat::parse(text).expect("a line as the kernel writes it");
        assert_eq!((stat.name.as_str(), stat.state, stat.ppid), ("a) b (c", 'R', 3));
        assert_eq!((stat.faults, stat.ticks, stat.system_ticks), ([11, 12], [43, 47], [22, 24]));
        assert_eq!((stat.threads, stat.start_ticks, stat.resident_pages), (5, 99, 33));
        assert_eq!(Stat::parse("7 (cut off"), None);
    }

    #[test]
    fn bytes_of_calls_and_of_devices_are_told_apart() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let io = Io { bytes: [1, 2], calls: [3, 4], device: [5, 6] };
        assert_eq!(Io::parse(text), Some(io));
        assert_eq!(io.plus(io).minus(io), io);
    }

    #[test]
    fn a_file_that_is_kept_tells_what_holds_now() {
        let (mut reader, mut kept) = (Reader::default(), Kept::default());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep is there");
        let path = format!("/proc/{}/stat", child.id());
        let state = |kept: &mut Kept, reader: &mut Reader| {
            Stat::parse(kept.read(reader, || path.clone()).ok()?).map(|stat| stat.state)
        };
        assert!(state(&mut kept, &mut reader).is_some_and(|state| state != 'Z'));
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::KILL,
        )
        .expect("it is ours");
        while state(&mut kept, &mut reader) != Some('Z') {}
        child.wait().expect("it is ours");
        assert_eq!(state(&mut kept, &mut reader), None, "it is gone");
    }

    #[test]
    fn this_process_is_found() {
        let mut reader = Reader::default();
        let stat = Stat::parse(reader.read("/proc/self/stat").expect("it is there")).expect("well-formed");
        assert!(stat.threads >= 1 && stat.resident_pages > 0);
        assert!(numbers_in("/proc").contains(&(std::process::id() as i32)));
    }
}
