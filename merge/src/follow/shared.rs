//! Positions that several processes share, and descriptors that nothing but their number tells apart.
//!
//! A process that was forked has its parent's open files, not copies of them: what one reads or writes moves the position
//! of the other. A trace knows the position from the start of every process on, and here the processes tell each other.

use std::collections::HashMap;
use syn_trace::Run;
use syn_trace::descriptors::{Descriptors, OpenFile, OpenId, Position, flags};

/// How many processes up the line of descent an open file is looked for.
const MOST_ANCESTORS: usize = 16;
/// So many of the files that an ancestor opened last are looked through, for one that it has closed since it forked.
const MOST_CLOSED: usize = 256;

/// Who shares which position.
#[derive(Debug)]
pub struct SharedPositions {
    /// By process: the image before it, or its parent.
    origins: Vec<Option<usize>>,
    /// By process: regular files that it found open.
    inherited: Vec<Vec<OpenId>>,
    /// By process: open files, and the index of their position.
    shared: Vec<Vec<(OpenId, usize)>>,
    positions: Vec<Position>,
}

impl SharedPositions {
    /// Of a run, with nothing seen yet.
    pub fn new(run: &Run) -> SharedPositions {
        let mut latest = HashMap::new();
        let mut origins = Vec::with_capacity(run.processes.len());
        // Processes come in the order of their starts.
        for (index, process) in run.processes.iter().enumerate() {
            let of = |pid: u32| latest.get(&(process.boot_id, pid)).copied();
            origins.push(of(process.pid).or_else(|| of(process.ppid)));
            latest.insert((process.boot_id, process.pid), index);
        }
        let none = || vec![Vec::new(); run.processes.len()];
        SharedPositions {
            origins,
            inherited: none(),
            shared: vec![Vec::new(); run.processes.len()],
            positions: Vec::new(),
        }
    }

    /// Before an event of `process`: its open files stand where others have left them.
    #[inline]
    pub fn arrive(&self, process: usize, files: &mut Descriptors) {
        for &(open, position) in &self.shared[process] {
            files.share(open, self.positions[position]);
        }
    }

    /// After an event of `process`: others find its open files where it has left them.
    #[inline]
    pub fn leave(&mut self, process: usize, files: &Descriptors) {
        let moved = |&(open, position): &(OpenId, usize)| {
            let now = files.position(open);
            (now != self.positions[position]).then_some((position, now))
        };
        // Several of the process's open files may have the position: all but the one that moved it are behind.
        let moved: Vec<(usize, Position)> = self.shared[process].iter().filter_map(moved).collect();
        for (position, now) in moved {
            self.positions[position] = now;
        }
    }

    /// `process` has found `fd` open: as the file that it stands for in the process it came from, or as another of its
    /// own descriptors.
    pub fn inherit(&mut self, process: usize, fd: i32, open: OpenId, all: &mut [Descriptors]) {
        if let Some((owner, twin)) = self.opened_by(process, fd, all[process].open_file(open), all) {
            all[process].identify(open, owner, twin);
        }
        let file = all[process].open_file(open);
        if file.is_told_by_number() {
            if let Some((owner, twin)) = self.number_in_origin(process, fd, all) {
                all[process].identify(open, owner, twin);
            }
            return;
        }
        // With O_APPEND, the position is the end of the file whoever writes.
        if file.path.is_none()
            || file.st_mode & libc::S_IFMT != libc::S_IFREG
            || file.flags & flags::O_APPEND != 0
        {
            return;
        }
        let here = self.inherited[process].iter().copied();
        let twin = here.clone().find(|&other| {
            let other = all[process].open_file(other);
            other.offset == file.offset && is_same(file, other)
        });
        let found = twin.map(|twin| (process, twin)).or_else(|| self.in_origin(process, fd, file, all));
        let position = all[process].position(open);
        self.inherited[process].push(open);
        let Some((owner, twin)) = found else { return };
        let known = self.shared[owner].iter().find(|&&(open, _)| open == twin).map(|&(_, position)| position);
        let end = all[owner].position(twin).end.max(position.end);
        let position = Position { end, ..position };
        let index = known.unwrap_or_else(|| {
            self.positions.push(position);
            self.shared[owner].push((twin, self.positions.len() - 1));
            self.positions.len() - 1
        });
        self.positions[index] = position;
        self.shared[process].push((open, index));
        all[owner].share(twin, position);
        all[process].share(open, position);
    }

    /// Who opened a regular file, and what it is there. Its path may be another: links are followed in that of a file found open.
    fn opened_by(
        &self,
        process: usize,
        fd: i32,
        file: &OpenFile,
        all: &[Descriptors],
    ) -> Option<(u32, OpenId)> {
        let kind = |file: &OpenFile| (file.st_mode & libc::S_IFMT, file.flags & flags::O_ACCMODE);
        if file.inode == 0 || file.st_mode & libc::S_IFMT != libc::S_IFREG {
            return None;
        }
        let ancestors = std::iter::successors(self.origins[process], |&origin| self.origins[origin]);
        ancestors.take(MOST_ANCESTORS).find_map(|origin| {
            let files = &all[origin];
            let is_it = |&open: &OpenId| {
                let other = files.open_file(open);
                file.may_be_of(other) && kind(file) == kind(other)
            };
            let latest = || files.open_files().rev().take(MOST_CLOSED).find(is_it);
            let open = files.descriptor(fd).filter(is_it).or_else(latest)?;
            Some(files.open_file(open).twin.unwrap_or((origin as u32, open)))
        })
    }

    /// What a descriptor that only its number tells apart stands for in the process it came from.
    fn number_in_origin(&self, process: usize, fd: i32, all: &[Descriptors]) -> Option<(u32, OpenId)> {
        let origin = self.origins[process]?;
        let open = all[origin].descriptor(fd)?;
        let file = all[origin].open_file(open);
        file.is_told_by_number().then(|| file.twin.unwrap_or((origin as u32, open)))
    }

    /// The open file of an ancestor that the new one is.
    fn in_origin(
        &self,
        process: usize,
        fd: i32,
        file: &OpenFile,
        all: &[Descriptors],
    ) -> Option<(usize, OpenId)> {
        let ancestors = std::iter::successors(self.origins[process], |&origin| self.origins[origin]);
        ancestors.take(MOST_ANCESTORS).find_map(|origin| {
            let files = &all[origin];
            let matches = |&open: &OpenId| is_same(file, files.open_file(open));
            let same_number = files.descriptor(fd).filter(matches);
            // What a child did to its descriptors before it became another program is not always on record.
            let any = || files.in_use().into_iter().filter_map(|fd| files.descriptor(fd)).find(matches);
            same_number.or_else(any).map(|open| (origin, open))
        })
    }
}

/// By process image: the one before it of the same process.
pub fn images_before(run: &Run) -> Vec<Option<usize>> {
    let mut latest = HashMap::new();
    let images = run.processes.iter().map(|image| (image.boot_id, image.pid));
    images.enumerate().map(|(index, image)| latest.insert(image, index)).collect()
}

/// Whether both can be one open file.
fn is_same(one: &OpenFile, other: &OpenFile) -> bool {
    const KEPT: i32 = flags::O_ACCMODE | flags::O_APPEND;
    one.path == other.path && one.may_be_of(other) && one.flags & KEPT == other.flags & KEPT
}
