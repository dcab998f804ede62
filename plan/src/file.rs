//! The plan as a file, read where it lies: mapped, and indexed by rank.

use crate::check;
use crate::fault::Fault;
use crate::layout::{
    EDGE, HEADER, Header, Kind, List, MAGIC, NO_RANK, RANK, Section, StepsAt, VERSION, fixed_u32,
};
use crate::steps::NotSteps;
use crate::{About, Balance, Edge, File, Members, Plan, PlanError, PlanWriter, Program, Steps, Thread};
use memmap2::Mmap;
use serde::Deserialize;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Plan {
    /// Writes the plan to `path`, by way of a file beside it, so that a reader never sees half a plan.
    ///
    /// # Errors
    /// [`PlanError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), PlanError> {
        let mut writer = PlanWriter::create(path)?;
        for program in &self.programs {
            writer.program(program)?;
        }
        writer.finish(self)
    }

    /// Reads the plan at `path` and checks that it can be replayed: every number in it refers to something, and no
    /// thread would wait for ever. The steps stay where they are in the file.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn load(path: &Path) -> Result<Plan, PlanError> {
        let plan = PlanFile::open(path)?.whole()?;
        check::check(&plan).map_err(|fault| PlanError::Wrong { path: path.to_owned(), fault })?;
        Ok(plan)
    }

    /// True when the file at `path` begins like a plan.
    pub fn is_plan(path: &Path) -> bool {
        let mut front = [0u8; MAGIC.len()];
        std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut front).is_ok()) && front == MAGIC
    }

    /// Checks that every number in the plan refers to something, and that no thread would wait for ever.
    ///
    /// # Errors
    /// The first [`Fault`] found.
    pub fn check(&self) -> Result<(), Fault> {
        check::check(self)
    }
}

/// A plan file that is mapped. Its header and directory are in order; what else it holds is looked at when it is asked for.
#[derive(Clone, Debug)]
pub struct PlanFile {
    path: PathBuf,
    map: Arc<Mmap>,
    /// Where each kind of section is.
    sections: [Section; Kind::ALL.len()],
    directory: Range<usize>,
}

impl PlanFile {
    /// Opens the plan at `path`.
    ///
    /// # Errors
    /// [`PlanError`]; what is in the sections has not been looked at.
    pub fn open(path: &Path) -> Result<PlanFile, PlanError> {
        let failed = |cause| PlanError::Io { what: "read", path: path.to_owned(), cause };
        let file = std::fs::File::open(path).map_err(failed)?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(PlanError::Folder(path.to_owned()));
        }
        let map = Arc::new(map(&file).map_err(failed)?);
        let mut opened = PlanFile {
            path: path.to_owned(),
            map,
            sections: [Section { kind: 0, crc: 0, offset: 0, length: 0, count: 0 }; Kind::ALL.len()],
            directory: 0..0,
        };
        let header = opened.header()?;
        opened.find_sections(&header)?;
        Ok(opened)
    }

    fn header(&self) -> Result<Header, PlanError> {
        let bytes = &self.map[..];
        let cut_off = |of: String| {
            let (path, offset) = (self.path.clone(), bytes.len() as u64);
            Err(PlanError::CutOff { path, offset, of })
        };
        if !bytes.starts_with(&MAGIC) {
            return match !bytes.is_empty() && MAGIC.starts_with(bytes) {
                true => cut_off("inside the magic number".into()),
                false => Err(PlanError::NotOurs(self.path.clone())),
            };
        }
        let mut behind = &bytes[MAGIC.len()..];
        match fixed_u32(&mut behind) {
            None => return cut_off("inside the version".into()),
            Some(VERSION) => {}
            Some(found) if found < VERSION => {
                return Err(PlanError::Older { path: self.path.clone(), found });
            }
            Some(found) => return Err(PlanError::Newer { path: self.path.clone(), found }),
        }
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return cut_off("inside the header".into());
        };
        let header = Header::decode(header).ok_or_else(|| self.damaged(0, "the header"))?;
        if (bytes.len() as u64) < header.length {
            return cut_off(format!("of {}", header.length));
        }
        if bytes.len() as u64 > header.length {
            return Err(self.damaged(header.length as usize, "what follows the end"));
        }
        Ok(header)
    }

    fn find_sections(&mut self, header: &Header) -> Result<(), PlanError> {
        let in_header = || self.damaged(0, "the header");
        let directory = header.directory().ok_or_else(in_header)?;
        let in_directory = || self.damaged(directory.start, "the directory");
        let bytes = &self.map[directory.clone()];
        let sections = Section::decode_all(bytes);
        let whole =
            crc32fast::hash(bytes) == header.crc && [Kind::USUAL, Kind::ALL.len()].contains(&sections.len());
        if !whole || sections.iter().any(|section| section.range(header.length).is_none()) {
            return Err(in_directory());
        }
        let count = sections.len();
        for (place, kind) in self.sections.iter_mut().zip(Kind::ALL).take(count) {
            if let Some(&found) = sections.iter().find(|section| section.kind == kind as u32) {
                *place = found;
            }
        }
        // As many sections as kinds: where one occurs twice, another is missing.
        if self.sections[..count].iter().any(|section| section.kind == 0) {
            return Err(self.damaged(directory.start, "the directory"));
        }
        self.directory = directory;
        Ok(())
    }

    /// A number that tells this plan from others, whatever their paths.
    pub fn fingerprint(&self) -> u32 {
        crc32fast::hash(&self.map[self.directory.clone()])
    }

    /// What the plan was made from.
    ///
    /// # Errors
    /// [`PlanError::Damaged`].
    pub fn about(&self) -> Result<About, PlanError> {
        self.content(Kind::About)
    }

    /// How many programs it has.
    pub fn programs(&self) -> usize {
        self.section(Kind::Threads).count as usize
    }

    /// The numbers of the programs of a rank, or of those without one.
    ///
    /// # Errors
    /// [`PlanError::Damaged`].
    pub fn programs_of(&self, rank: Option<u32>) -> Result<Range<usize>, PlanError> {
        let wanted = rank.unwrap_or(NO_RANK);
        let entries: Vec<(u32, u32)> = self.index()?;
        let first = entries.partition_point(|&(rank, _)| rank < wanted);
        let program =
            |entry: usize| entries.get(entry).map_or(self.programs(), |&(_, program)| program as usize);
        match entries.get(first) {
            Some(&(found, _)) if found == wanted => Ok(program(first)..program(first + 1)),
            _ => Ok(0..0),
        }
    }

    /// One more than the highest rank that has programs.
    ///
    /// # Errors
    /// [`PlanError::Damaged`].
    pub fn ranks(&self) -> Result<u32, PlanError> {
        Ok(self.index()?.iter().rev().nth(1).map_or(0, |&(rank, _)| rank + 1))
    }

    /// The first program of each rank that has one, and of those that have none.
    fn index(&self) -> Result<Vec<(u32, u32)>, PlanError> {
        let bytes = self.bytes(Kind::Ranks);
        let entries = bytes
            .chunks_exact(RANK)
            .map_while(|mut entry| Some((fixed_u32(&mut entry)?, fixed_u32(&mut entry)?)));
        let entries: Vec<(u32, u32)> = entries.collect();
        let section = self.section(Kind::Ranks);
        let dense = section.is_table_of(RANK);
        let ends =
            entries.last().is_some_and(|&(rank, first)| rank == NO_RANK && first as usize <= self.programs());
        let rises = entries.is_sorted_by(|one, other| one.0 < other.0 && one.1 <= other.1);
        if !dense || !ends || !rises {
            return Err(self.in_section(Kind::Ranks));
        }
        Ok(entries)
    }

    /// All of it. Every section's checksum is looked at, and every step is decoded once; that it can be replayed is not checked.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn whole(&self) -> Result<Plan, PlanError> {
        for kind in Kind::ALL.into_iter().filter(|&kind| self.has(kind)) {
            if crc32fast::hash(self.bytes(kind)) != self.section(kind).crc {
                return Err(self.in_section(kind));
            }
        }
        self.index()?;
        if !self.section(Kind::Edges).is_table_of(EDGE) {
            return Err(self.in_section(Kind::Edges));
        }
        let edges = 0..self.section(Kind::Edges).count as usize;
        let kinds = [Kind::Files, Kind::Threads, Kind::Communicators, Kind::Lists];
        for kind in kinds.into_iter().filter(|&kind| self.has(kind)) {
            if !self.list(kind)?.is_dense() {
                return Err(self.in_section(kind));
            }
        }
        let files = 0..self.section(Kind::Files).count as usize;
        let plan = Plan {
            about: self.about()?,
            files: files.map(|file| self.file(file)).collect::<Result<_, _>>()?,
            names: self.names()?,
            attributes: self.content(Kind::Attributes)?,
            edges: edges.map(|edge| self.edge(edge)).collect::<Result<_, _>>()?,
            calls: self.content(Kind::Calls)?,
            communicators: self.items(Kind::Communicators)?,
            lists: self.items(Kind::Lists)?,
            programs: (0..self.programs()).map(|program| self.program(program)).collect::<Result<_, _>>()?,
        };
        let counts = [
            (Kind::About, 1),
            (Kind::Names, plan.names.len()),
            (Kind::Attributes, plan.attributes.len()),
            (Kind::Calls, plan.calls.len()),
        ];
        if let Some((kind, _)) =
            counts.into_iter().find(|&(kind, count)| self.section(kind).count != count as u64)
        {
            return Err(self.in_section(kind));
        }
        self.nothing_between(&plan)?;
        Ok(plan)
    }

    /// The parts of the file follow each other: a byte that none of them holds is not looked at by anybody.
    fn nothing_between(&self, plan: &Plan) -> Result<(), PlanError> {
        let steps: usize = plan.programs.iter().map(|program| program.steps.as_bytes().len()).sum();
        let sections: u64 = self.sections.iter().map(|section| section.length).sum();
        let held = (HEADER + steps + self.directory.len()) as u64 + sections;
        match held == self.map.len() as u64 {
            true => Ok(()),
            false => Err(self.damaged(self.directory.start, "the directory")),
        }
    }

    /// The names of extended attributes.
    pub(crate) fn names(&self) -> Result<Vec<String>, PlanError> {
        self.content(Kind::Names)
    }

    /// The names of calls.
    pub(crate) fn calls(&self) -> Result<Vec<String>, PlanError> {
        self.content(Kind::Calls)
    }

    pub(crate) fn file(&self, index: usize) -> Result<File, PlanError> {
        let bytes = self.list(Kind::Files)?.get(index);
        bytes.and_then(decoded).ok_or_else(|| self.in_section(Kind::Files))
    }

    /// A communicator, by its index among those of the plan.
    pub(crate) fn communicator(&self, index: usize) -> Result<Members, PlanError> {
        self.item(Kind::Communicators, index)
    }

    pub(crate) fn numbers(&self, index: usize) -> Result<Vec<u64>, PlanError> {
        self.item(Kind::Lists, index)
    }

    fn item<T: for<'a> Deserialize<'a>>(&self, kind: Kind, index: usize) -> Result<T, PlanError> {
        if !self.has(kind) {
            return Err(self.damaged(self.directory.start, kind.name()));
        }
        self.list(kind)?.get(index).and_then(decoded).ok_or_else(|| self.in_section(kind))
    }

    /// All of a list, which is empty where there is no such section.
    fn items<T: for<'a> Deserialize<'a>>(&self, kind: Kind) -> Result<Vec<T>, PlanError> {
        (0..self.section(kind).count as usize).map(|index| self.item(kind, index)).collect()
    }

    /// True when the plan has such a section.
    fn has(&self, kind: Kind) -> bool {
        self.section(kind).kind != 0
    }

    pub(crate) fn edge(&self, index: usize) -> Result<Edge, PlanError> {
        let bytes = index.checked_mul(EDGE).and_then(|at| self.bytes(Kind::Edges).get(at..)?.first_chunk());
        bytes.and_then(Edge::decode).ok_or_else(|| self.in_section(Kind::Edges))
    }

    pub(crate) fn program(&self, index: usize) -> Result<Program, PlanError> {
        let entry = self.list(Kind::Threads)?.get(index).and_then(|bytes| {
            let ((thread, balance), mut rest) = postcard::take_from_bytes::<(Thread, Balance)>(bytes).ok()?;
            let at = StepsAt::take(&mut rest)?;
            rest.is_empty().then_some((thread, balance, at))
        });
        let (thread, balance, at) = entry.ok_or_else(|| self.in_section(Kind::Threads))?;
        Ok(Program { thread, balance, steps: self.steps(index, &at)? })
    }

    fn steps(&self, program: usize, at: &StepsAt) -> Result<Steps, PlanError> {
        let end = at.offset.checked_add(at.length).filter(|&end| end <= self.map.len() as u64);
        let Some(range) = end.map(|end| at.offset as usize..end as usize) else {
            return Err(self.in_section(Kind::Threads));
        };
        let name = || format!("the steps of program {program}");
        let damaged = || self.damaged(range.start, name());
        if crc32fast::hash(&self.map[range.clone()]) != at.crc {
            return Err(damaged());
        }
        Steps::mapped(&self.map, range.clone(), at.count).map_err(|why| match why {
            NotSteps::Unknown(number) => PlanError::Unknown { path: self.path.clone(), program, number },
            NotSteps::Malformed => damaged(),
        })
    }

    fn section(&self, kind: Kind) -> &Section {
        &self.sections[kind as usize - 1]
    }

    fn bytes(&self, kind: Kind) -> &[u8] {
        let range = self.section(kind).range(self.map.len() as u64).unwrap_or(0..0);
        &self.map[range]
    }

    fn list(&self, kind: Kind) -> Result<List<'_>, PlanError> {
        List::new(self.bytes(kind), self.section(kind).count).ok_or_else(|| self.in_section(kind))
    }

    fn content<T: for<'a> Deserialize<'a>>(&self, kind: Kind) -> Result<T, PlanError> {
        decoded(self.bytes(kind)).ok_or_else(|| self.in_section(kind))
    }

    fn in_section(&self, kind: Kind) -> PlanError {
        self.damaged(self.section(kind).offset as usize, kind.name())
    }

    fn damaged(&self, offset: usize, section: impl Into<String>) -> PlanError {
        PlanError::Damaged { path: self.path.clone(), offset: offset as u64, section: section.into() }
    }

    /// An error about what the plan says.
    pub(crate) fn wrong(&self, fault: Fault) -> PlanError {
        PlanError::Wrong { path: self.path.clone(), fault }
    }
}

/// All of the bytes as one value.
fn decoded<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Option<T> {
    postcard::take_from_bytes(bytes).ok().filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value)
}

#[allow(unsafe_code)]
fn map(file: &std::fs::File) -> io::Result<Mmap> {
    // SAFETY: plans are never written in place: a new one takes the name of the old one, which stays as it is for those who
    // have it mapped. Whoever changes one all the same changes what is decoded, and decoding checks all that it reads.
    unsafe { Mmap::map(file) }
}
