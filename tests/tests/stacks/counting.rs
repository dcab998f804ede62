//! The profiling library of the tests, and what COVERAGE.md says of each function.

use crate::installed::{self, Stack};
use object::read::elf::{ElfFile64, FileHeader, Sym};
use object::{LittleEndian, elf};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const COVERAGE: &str = include_str!("../../../mpi-wrap/COVERAGE.md");

/// What becomes of a function.
fn coverage(name: &str) -> Option<&'static str> {
    COVERAGE.lines().find_map(|line| {
        let (listed, what) = line.strip_prefix("| `")?.split_once("` | ")?;
        (listed == name).then(|| what.trim_end_matches(" |"))
    })
}

/// The call that a function is recorded as.
pub fn recorded_as(name: &str) -> Option<&str> {
    match coverage(name)? {
        "recorded" => Some(name),
        what => what.strip_prefix("recorded as `")?.strip_suffix('`'),
    }
}

/// Is it in the list? Parts of MPI 1 that the standard has removed are not, nor what one implementation has for itself or
/// MPI 5 adds for its ABI.
pub fn is_known(name: &str) -> bool {
    const OTHERS: [&str; 15] = [
        "MPI_Session_set_info",
        "MPI_Address",
        "MPI_Errhandler_create",
        "MPI_Errhandler_get",
        "MPI_Errhandler_set",
        "MPI_Type_extent",
        "MPI_Type_hindexed",
        "MPI_Type_hvector",
        "MPI_Type_lb",
        "MPI_Type_struct",
        "MPI_Type_ub",
        "MPI_Type_count",
        "MPI_Comm_revoke",
        "MPI_Comm_shrink",
        "MPI_Comm_agree",
    ];
    let of_mpi_5 =
        ["_toint", "_fromint"].iter().any(|end| name.ends_with(end)) || name.starts_with("MPI_Abi_");
    coverage(name).is_some() || of_mpi_5 || OTHERS.contains(&name)
}

/// The functions of MPI in C that a library has.
pub fn functions(library: &Path) -> BTreeSet<String> {
    let bytes = std::fs::read(library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let file: ElfFile64<'_, LittleEndian> = ElfFile64::parse(&*bytes).expect("an ELF file");
    let header: &elf::FileHeader64<LittleEndian> = file.elf_header();
    let sections = header.sections(LittleEndian, &*bytes).expect("sections");
    let symbols = sections.symbols(LittleEndian, &*bytes, elf::SHT_DYNSYM).expect("a dynamic symbol table");
    let defined = symbols
        .iter()
        .filter(|symbol| symbol.st_type() == elf::STT_FUNC && !symbol.is_undefined(LittleEndian));
    let names = defined.map(|symbol| symbols.symbol_name(LittleEndian, symbol).expect("a name"));
    names
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .filter(|name| name.starts_with("MPI_") && name.chars().any(char::is_lowercase))
        .collect()
}

/// The profiling library for one MPI.
pub struct Counted {
    /// Its file.
    pub preload: PathBuf,
}

impl Counted {
    /// Makes one that counts all functions which are recorded or noted, in this folder.
    pub fn of(stack: &Stack, folder: &Path) -> Counted {
        let counted = functions(&stack.libmpi);
        let counted =
            counted.iter().filter(|name| coverage(name).is_some_and(|what| !what.starts_with("passed")));
        let names: String =
            counted.enumerate().map(|(number, name)| format!("X({number}, {name})\n")).collect();
        std::fs::write(folder.join("names.h"), names).expect("a header can be written");
        let library = folder.join("libcounting.so");
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-O1", "-Wall", "-I"]).arg(folder).arg("-o").arg(&library);
        let output = command.arg(installed::source("counting.c")).output().expect("a compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Counted { preload: library }
    }

    /// What it has counted in all processes.
    pub fn calls(&self, counts: &Path) -> BTreeMap<String, u64> {
        let mut calls = BTreeMap::new();
        for entry in std::fs::read_dir(counts).expect("a folder") {
            let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("counts");
            for line in text.lines() {
                let (name, count) = line.split_once(' ').expect("a name and a count");
                *calls.entry(name.to_owned()).or_default() += count.parse::<u64>().expect("a number");
            }
        }
        calls
    }
}
