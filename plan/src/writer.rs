//! Writing a plan: program after program, then what they refer to.

use crate::layout::{HEADER, Header, Kind, List, NO_RANK, Section, StepsAt};
use crate::{Balance, Edge, Plan, PlanError, Program, Thread};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Edges that are encoded before they are written.
const EDGES_AT_ONCE: usize = 1 << 12;

/// A plan file in the making: a file beside the one to be, which takes its place when all is written, so that a reader never
/// sees half a plan. Dropped before, it leaves nothing.
#[derive(Debug)]
pub struct PlanWriter {
    path: PathBuf,
    beside: PathBuf,
    out: Option<BufWriter<File>>,
    at: u64,
    threads: Vec<Vec<u8>>,
    ranks: Vec<Option<u32>>,
}

impl PlanWriter {
    /// Begins the plan that is to be at `path`.
    ///
    /// # Errors
    /// [`PlanError::Io`].
    pub fn create(path: &Path) -> Result<PlanWriter, PlanError> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let beside = PathBuf::from(beside);
        let begun = File::create(&beside).map(BufWriter::new).and_then(|mut out| {
            out.write_all(&[0; HEADER])?;
            Ok(out)
        });
        let out = Some(begun.map_err(|cause| failed(path, cause))?);
        let path = path.to_owned();
        Ok(PlanWriter { path, beside, out, at: HEADER as u64, threads: Vec::new(), ranks: Vec::new() })
    }

    /// Appends a program. Those of a rank come together, in the order of ranks, and those without a rank at the end.
    ///
    /// # Errors
    /// [`PlanError::Io`].
    pub fn program(&mut self, program: &Program) -> Result<(), PlanError> {
        let Program { thread, balance, steps } = program;
        let bytes = steps.as_bytes();
        let at = StepsAt {
            offset: self.at,
            length: bytes.len() as u64,
            count: steps.len(),
            crc: crc32fast::hash(bytes),
        };
        let written = entry(thread, balance, &at).and_then(|entry| {
            self.threads.push(entry);
            self.append(bytes)
        });
        self.ranks.push(thread.rank);
        written.map_err(|cause| failed(&self.path, cause))
    }

    /// Writes all else of `plan` but its programs, and puts the file in its place.
    ///
    /// # Errors
    /// [`PlanError::Io`].
    pub fn finish(mut self, plan: &Plan) -> Result<(), PlanError> {
        let written = self.sections(plan).and_then(|()| std::fs::rename(&self.beside, &self.path));
        if written.is_ok() {
            self.out = None;
        }
        written.map_err(|cause| failed(&self.path, cause))
    }

    fn sections(&mut self, plan: &Plan) -> io::Result<()> {
        let mut directory = Vec::new();
        let files = plan.files.iter().map(encoded).collect::<io::Result<Vec<_>>>()?;
        let threads = std::mem::take(&mut self.threads);
        let ranks = first_programs(&self.ranks);
        let communicators = plan.communicators.iter().map(encoded).collect::<io::Result<Vec<_>>>()?;
        let lists = plan.lists.iter().map(encoded).collect::<io::Result<Vec<_>>>()?;
        let sections = if plan.communicates() { Kind::ALL.len() } else { Kind::USUAL };
        let contents = [
            (Kind::About, 1, encoded(&plan.about)?),
            (Kind::Files, files.len(), List::encode(files)),
            (Kind::Names, plan.names.len(), encoded(&plan.names)?),
            (Kind::Attributes, plan.attributes.len(), encoded(&plan.attributes)?),
            // Written in pieces: there may be as many as steps.
            (Kind::Edges, plan.edges.len(), Vec::new()),
            (Kind::Calls, plan.calls.len(), encoded(&plan.calls)?),
            (Kind::Threads, threads.len(), List::encode(threads)),
            (
                Kind::Ranks,
                ranks.len(),
                ranks.iter().flat_map(|&(rank, first)| [rank, first]).flat_map(u32::to_le_bytes).collect(),
            ),
            (Kind::Communicators, communicators.len(), List::encode(communicators)),
            (Kind::Lists, lists.len(), List::encode(lists)),
        ];
        for (kind, count, content) in contents.into_iter().take(sections) {
            let (offset, mut crc) = (self.at, crc32fast::Hasher::new());
            let edges = if kind == Kind::Edges { &plan.edges[..] } else { &[] };
            let pieces = edges.chunks(EDGES_AT_ONCE);
            let pieces = pieces.map(|edges| edges.iter().flat_map(Edge::encode).collect::<Vec<u8>>());
            for piece in std::iter::once(content).chain(pieces) {
                crc.update(&piece);
                self.append(&piece)?;
            }
            let (crc, length) = (crc.finalize(), self.at - offset);
            Section { kind: kind as u32, crc, offset, length, count: count as u64 }.encode(&mut directory);
        }
        let header = Header {
            directory: self.at,
            length: self.at + directory.len() as u64,
            sections: sections as u32,
            crc: crc32fast::hash(&directory),
        };
        self.append(&directory)?;
        let Some(out) = &mut self.out else { return Ok(()) };
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&header.encode())?;
        out.flush()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.as_mut().map_or(Ok(()), |out| out.write_all(bytes))
    }
}

impl Drop for PlanWriter {
    fn drop(&mut self) {
        if self.out.take().is_some() {
            // Half a plan is of no use to anyone; the error that was met has been told.
            let _ = std::fs::remove_file(&self.beside);
        }
    }
}

fn failed(path: &Path, cause: io::Error) -> PlanError {
    PlanError::Io { what: "write", path: path.to_owned(), cause }
}

fn encoded(value: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

fn entry(thread: &Thread, balance: &Balance, at: &StepsAt) -> io::Result<Vec<u8>> {
    let mut entry = encoded(&(thread, balance))?;
    at.put(&mut entry);
    Ok(entry)
}

/// The first program of each rank that has one, and behind them the first without a rank.
fn first_programs(ranks: &[Option<u32>]) -> Vec<(u32, u32)> {
    let mut first: Vec<(u32, u32)> = Vec::new();
    for (program, rank) in (0..).zip(ranks).map_while(|(program, rank)| Some((program, (*rank)?))) {
        if first.last().is_none_or(|&(before, _)| before != rank) {
            first.push((rank, program));
        }
    }
    let known = ranks.iter().take_while(|rank| rank.is_some()).count();
    first.push((NO_RANK, known as u32));
    first
}
