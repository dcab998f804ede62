//! The plan as a file: magic, version, a checksummed head, and one checksummed section per program.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic `SYNPLAN\n` |
//! | 4 | version, little endian |
//! | section | the head in postcard's wire format: about, files, names, attributes, edges, threads with their balances and step counts |
//! | section, one per thread | its steps, see [`crate::Steps`] |
//!
//! A section is its length (8 bytes, little endian), the CRC-32 of its bytes (4 bytes, little endian), its bytes.

use crate::check::{self, Fault};
use crate::{About, Attribute, Balance, Edge, File, Plan, Program, Steps, Thread};
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The first eight bytes of a plan.
pub const MAGIC: [u8; 8] = *b"SYNPLAN\n";
/// The format version this code writes, and the only one it reads.
pub const VERSION: u32 = 2;

/// Why a plan could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The operating system said no.
    #[error("cannot {what} the plan {}: {cause}", path.display())]
    Io {
        /// "read" or "write".
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The magic number is another one.
    #[error("{}: not a syn plan; make one with `syn-merge runs/*`", .0.display())]
    NotOurs(PathBuf),
    /// The file was written by an earlier version of the format.
    #[error("{}: plan format {found} is older than {VERSION}, which this program reads; merge the run again", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file was written by a later version of the format.
    #[error("{}: plan format {found} is newer than {VERSION}, which this program reads; update syn", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file ends too early.
    #[error("{}: cut off at byte {offset}, inside {section}; copy or merge it again", path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
        /// Its length.
        offset: u64,
        /// What was being read.
        section: String,
    },
    /// A section's checksum or form is wrong.
    #[error("{}: damaged in {section}, which begins at byte {offset}; copy or merge it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the section begins.
        offset: u64,
        /// Which section.
        section: String,
    },
    /// The file is whole, but what it says cannot be replayed.
    #[error("{}: {fault}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: Fault,
    },
}

#[derive(Serialize, Deserialize)]
struct Head {
    about: About,
    files: Vec<File>,
    names: Vec<String>,
    attributes: Vec<Attribute>,
    edges: Vec<Edge>,
    threads: Vec<(Thread, Balance, u64)>,
}

impl Plan {
    /// Writes the plan to `path`, by way of a file beside it, so that a reader never sees half a plan.
    ///
    /// # Errors
    /// [`PlanError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), PlanError> {
        let failed = |cause| PlanError::Io { what: "write", path: path.to_owned(), cause };
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let beside = PathBuf::from(beside);
        let written = self.write_to(&beside).and_then(|()| std::fs::rename(&beside, path));
        if written.is_err() {
            // The first error is the one to tell; the half-written file is of no use to anyone.
            let _ = std::fs::remove_file(&beside);
        }
        written.map_err(failed)
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(std::fs::File::create(path)?);
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        let head = Head {
            about: self.about.clone(),
            files: self.files.clone(),
            names: self.names.clone(),
            attributes: self.attributes.clone(),
            edges: self.edges.clone(),
            threads: self
                .programs
                .iter()
                .map(|program| (program.thread.clone(), program.balance.clone(), program.steps.len()))
                .collect(),
        };
        let head = postcard::to_stdvec(&head).map_err(io::Error::other)?;
        write_section(&mut out, &head)?;
        for program in &self.programs {
            write_section(&mut out, program.steps.as_bytes())?;
        }
        out.flush()
    }

    /// Reads the plan at `path` and checks that it can be replayed: every number in it refers to something, and no
    /// thread would wait for ever.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn load(path: &Path) -> Result<Plan, PlanError> {
        let failed = |cause| PlanError::Io { what: "read", path: path.to_owned(), cause };
        let mut bytes = Vec::new();
        std::fs::File::open(path).map_err(failed)?.read_to_end(&mut bytes).map_err(failed)?;
        let mut reader = Sections { path, bytes: &bytes, at: 0 };
        if !bytes.starts_with(&MAGIC) {
            let begun = !bytes.is_empty() && MAGIC.starts_with(&bytes);
            return Err(if begun {
                reader.cut_off("the magic number")
            } else {
                PlanError::NotOurs(path.to_owned())
            });
        }
        reader.at = MAGIC.len();
        let version = u32::from_le_bytes(reader.fixed("the version")?);
        match version {
            VERSION => {}
            found if found < VERSION => return Err(PlanError::Older { path: path.to_owned(), found }),
            found => return Err(PlanError::Newer { path: path.to_owned(), found }),
        }
        let plan = reader.plan()?;
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

fn write_section(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&(bytes.len() as u64).to_le_bytes())?;
    out.write_all(&crc32fast::hash(bytes).to_le_bytes())?;
    out.write_all(bytes)
}

struct Sections<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Sections<'a> {
    fn plan(&mut self) -> Result<Plan, PlanError> {
        let offset = self.at as u64;
        let head = self.section("the head")?;
        let mut head = match postcard::take_from_bytes::<Head>(head) {
            Ok((head, [])) => head,
            _ => return Err(self.damaged(offset, "the head".into())),
        };
        let mut programs = Vec::new();
        for (index, (thread, balance, count)) in std::mem::take(&mut head.threads).into_iter().enumerate() {
            let name = format!("the steps of program {index}");
            let offset = self.at as u64;
            let steps = Steps::from_bytes(self.section(&name)?.to_vec(), count)
                .ok_or_else(|| self.damaged(offset, name))?;
            programs.push(Program { thread, balance, steps });
        }
        if self.at != self.bytes.len() {
            return Err(self.damaged(self.at as u64, "what follows the last program".into()));
        }
        let Head { about, files, names, attributes, edges, .. } = head;
        Ok(Plan { about, files, names, attributes, edges, programs })
    }

    fn section(&mut self, name: &str) -> Result<&'a [u8], PlanError> {
        let offset = self.at as u64;
        let length = u64::from_le_bytes(self.fixed(name)?);
        let checksum = u32::from_le_bytes(self.fixed(name)?);
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let bytes = end.and_then(|end| self.bytes.get(self.at..end)).ok_or_else(|| self.cut_off(name))?;
        if crc32fast::hash(bytes) != checksum {
            return Err(self.damaged(offset, name.into()));
        }
        self.at += bytes.len();
        Ok(bytes)
    }

    fn fixed<const N: usize>(&mut self, name: &str) -> Result<[u8; N], PlanError> {
        let bytes = self.bytes[self.at..].first_chunk::<N>().ok_or_else(|| self.cut_off(name))?;
        self.at += N;
        Ok(*bytes)
    }

    fn cut_off(&self, section: &str) -> PlanError {
        PlanError::CutOff {
            path: self.path.to_owned(),
            offset: self.bytes.len() as u64,
            section: section.into(),
        }
    }

    fn damaged(&self, offset: u64, section: String) -> PlanError {
        PlanError::Damaged { path: self.path.to_owned(), offset, section }
    }
}
