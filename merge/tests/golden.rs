//! Every file in `golden/` is a run as text, a line of dashes, and the plan that comes of it. Checked for each: the
//! plan is as written, can be replayed (nothing waits for ever), and merging again gives the same bytes.
//!
//! `SYN_BLESS=1 cargo test -p syn-merge --test golden` writes the second half anew; read the difference.

mod common;

use std::path::Path;
use syn_merge::{Merged, Options, merge};
use syn_plan::LeftOut;

/// A merged plan as text: waits of every rule, files, programs, what was remarked.
fn describe(merged: &Merged) -> String {
    let mut lines = Vec::new();
    for (rule, count) in &merged.counts {
        lines.push(format!("rule {} found={} kept={}", rule.name(), count.found, count.kept));
    }
    for (number, file) in merged.plan.files.iter().enumerate() {
        lines.push(format!("file f{number} {} {}", file.path, file.initial));
    }
    for program in &merged.plan.programs {
        let rank = program.thread.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
        lines.push(format!("program rank={rank} pid={} tid={}", program.thread.pid, program.thread.tid));
        lines.extend(program.steps.iter().map(|step| format!("  {step}")));
    }
    let attributes = merged.plan.attributes.iter();
    lines.extend(
        attributes.map(|there| format!("attribute f{} a{} bytes={}", there.file, there.name, there.bytes)),
    );
    lines.extend(
        (0..).zip(&merged.plan.names).map(|(number, name): (u32, _)| format!("name a{number} {name}")),
    );
    let left_out = merged.plan.about.left_out.iter();
    lines.extend(
        left_out.map(|LeftOut { call, count, bytes, ns }| {
            format!("left out {call} {count} bytes={bytes} ns={ns}")
        }),
    );
    lines.extend(merged.notes.facts.iter().map(|fact| format!("note {fact}")));
    lines.extend(merged.notes.remarks.iter().map(|remark| format!("remark {remark}")));
    lines.extend(merged.notes.warnings.iter().map(|warning| format!("warning {warning}")));
    lines.join("\n") + "\n"
}

fn check(file: &Path, bless: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let (run, expected) = text.split_once("----\n").ok_or("no line of four dashes")?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    common::write_run(run, folder.path());
    let options = Options { runs: vec![folder.path().to_owned()], ..Options::default() };
    let merged = merge(&options).map_err(|error| format!("{error:#}"))?;
    merged.plan.check().map_err(|fault| fault.to_string())?;
    let plans = ["one.syn", "other.syn"].map(|name| folder.path().join(name));
    merged.plan.save(&plans[0]).map_err(|error| error.to_string())?;
    let again = merge(&options).map_err(|error| format!("{error:#}"))?;
    again.plan.save(&plans[1]).map_err(|error| error.to_string())?;
    if std::fs::read(&plans[0]).ok() != std::fs::read(&plans[1]).ok() {
        return Err("merging twice gave two plans".into());
    }
    for program in &merged.plan.programs {
        if program.balance.open_ns() != 0 {
            return Err(format!("the time of thread {} is {:?}", program.thread.tid, program.balance));
        }
    }
    let found = describe(&merged);
    if bless && found != expected {
        std::fs::write(file, format!("{run}----\n{found}")).map_err(|error| error.to_string())?;
        return Ok(());
    }
    if found != expected {
        return Err(format!("expected\n{expected}\nfound\n{found}"));
    }
    Ok(())
}

#[test]
fn plans_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let bless = std::env::var_os("SYN_BLESS").is_some();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|file| check(file, bless).err().map(|error| format!("{}: {error}", file.display())))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
