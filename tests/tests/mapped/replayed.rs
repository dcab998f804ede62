//! What a program does to mapped files is in its plan, and a replay does it.

use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use syn_merge::{Options, merge};
use syn_plan::{Io, Op, Plan};
use tests::workloads::python_itself;
use tests::{Job, Recorded, record, syn};

const PAGE: u64 = 4096;

/// Pages 0 and 50 of one file are read, and 70 by a child that finds it mapped; pages 3 and 20 of another are written and written back, then 5.
const PROGRAM: &str = r#"
import mmap, os
with open("data", "wb") as file: file.write(b"x" * 100 * 4096)
with open("data", "rb") as file: data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
assert data[0] + data[50 * 4096] == 240
child = os.fork()
if child == 0: os._exit(data[70 * 4096] - 120)
assert os.waitpid(child, 0)[1] == 0
out = os.open("out", os.O_RDWR | os.O_CREAT)
os.ftruncate(out, 32 * 4096)
pages = mmap.mmap(out, 32 * 4096)
os.close(out)
for page in 3, 20: pages[page * 4096] = 1
pages.flush()
pages[5 * 4096] = 1
pages.close()
"#;

/// 40 times, two pages of a new file are written and written back.
const SYNCED: &str = r#"
import mmap, os
out = os.open("out", os.O_RDWR | os.O_CREAT)
os.ftruncate(out, 800 * 4096)
pages = mmap.mmap(out, 800 * 4096)
for number in range(80):
    pages[number * 7 % 80 * 10 * 4096] = 1
    if number % 2: pages.flush()
pages.close()
"#;

fn recorded(program: &str) -> (Recorded, Plan) {
    let recorded = record(&Job::new(python_itself()).args(["-S", "-E", "-c", program]));
    assert!(recorded.recorded.status.success(), "{}", recorded.recorded.stderr);
    let options = Options { runs: vec![recorded.run_folder()], ..Options::default() };
    let plan = merge(&options).expect("merged").plan;
    plan.check().expect("a plan that can be replayed");
    (recorded, plan)
}

/// The operations of the program, with the name of the file that each one's handle stands for.
fn operations(plan: &Plan) -> Vec<(String, Io)> {
    let mut names = std::collections::BTreeMap::new();
    let steps = plan.programs[0].steps.iter();
    let calls = steps.filter_map(|step| match step.op {
        Op::Io { call, result: 0.. } => Some(call),
        _ => None,
    });
    calls
        .filter_map(|call| {
            let handle = call.operands().1[0]?;
            if let Io::Open { file, .. } = call {
                let path = &plan.files[file as usize].path;
                names.insert(handle, path.rsplit('/').next().unwrap_or_default().to_owned());
            }
            if let Io::Dup { handle, new } = call {
                names.insert(new, names.get(&handle)?.clone());
            }
            Some((names.get(&handle)?.clone(), call))
        })
        .collect()
}

#[test]
fn pages_are_touched_where_they_were_mapped_and_written_before_they_are_written_back() {
    let (_, plan) = recorded(PROGRAM);
    let operations = operations(&plan);
    let of = |name: &str| -> Vec<Io> {
        operations.iter().filter(|(file, _)| file == name).map(|&(_, call)| call).collect()
    };
    let touches = |call: &Io, page: u64| match *call {
        Io::Populate { offset, bytes, .. } => (offset..offset + bytes).contains(&(page * PAGE)),
        _ => false,
    };
    let data = of("data");
    for page in [0, 50] {
        assert_eq!(data.iter().filter(|call| touches(call, page)).count(), 1, "page {page} of {data:?}");
    }
    assert!(data.iter().all(|call| !matches!(call, Io::Populate { write: true, .. })), "{data:?}");
    assert!(matches!(data.last(), Some(Io::Close { .. })), "while the descriptor is open: {data:?}");

    let out = of("out");
    let at = |wanted: &dyn Fn(&Io) -> bool| {
        out.iter().position(wanted).unwrap_or_else(|| panic!("it is among {out:?}"))
    };
    let back = at(&|call| matches!(call, Io::Fdatasync { .. }));
    let Io::Fdatasync { handle: new } = out[back] else { unreachable!("it is one") };
    // Python makes a further descriptor for its mapping, too.
    let kept = at(&|call| matches!(call, Io::Dup { new: made, .. } if *made == new));
    let closed = at(&|call| matches!(call, Io::Close { handle } if *handle != new));
    let is_written = |call: &Io| matches!(call, Io::Populate { handle, write: true, .. } if *handle == new);
    let written = at(&is_written);
    assert!(kept < closed && closed < written && written < back, "{out:?}");
    assert!(out[back..].iter().any(is_written), "the last page: {out:?}");
    let last = out.iter().rev().find(|call| call.operands().1[0] == Some(new));
    assert_eq!(last, Some(&Io::Close { handle: new }));
    let remarks = plan.about.remarks.join("\n");
    assert!(remarks.contains("by children that found them mapped"), "{remarks}");
}

#[test]
fn what_is_synced_again_and_again_is_written_once() {
    let (_, plan) = recorded(SYNCED);
    let (mut written, mut syncs, mut unwritten) = (Vec::new(), 0, 0);
    let mut before = 0;
    for (_, call) in operations(&plan).into_iter().filter(|(file, _)| file == "out") {
        match call {
            Io::Populate { offset, bytes, write: true, .. } => {
                written.extend((offset / PAGE)..(offset + bytes) / PAGE);
            }
            Io::Fdatasync { .. } => {
                syncs += 1;
                unwritten += usize::from(written.len() == before);
                before = written.len();
            }
            _ => {}
        }
    }
    assert_eq!((syncs, unwritten), (40, 0), "{written:?}");
    let all = written.len();
    written.sort_unstable();
    written.dedup();
    assert_eq!((written.len(), all), (80, 80), "{written:?}");
}

#[test]
fn a_replay_touches_them() {
    let (recorded, plan) = recorded(PROGRAM);
    let folder = recorded.run_folder();
    let at = |name: &str| folder.join(name);
    plan.save(&at("app.syn")).expect("saved");
    std::fs::create_dir(at("storage")).expect("a folder");
    let replay = syn().arg("replay").arg(at("app.syn")).arg("--storage").arg(at("storage"));
    let replay = replay.args(["--keep", "--report"]).arg(at("report"));
    let _ = replay.run_in(&folder).succeeded();
    let report: Value =
        serde_json::from_slice(&std::fs::read(at("report")).expect("a report")).expect("JSON");
    assert_eq!(report["divergences"]["total"], 0, "{report}");
    let is_touch = |(_, call): &(String, Io)| matches!(call, Io::Populate { .. });
    let touches = operations(&plan).iter().filter(|operation| is_touch(operation)).count();
    assert_eq!(report["calls"]["populate"]["count"], touches);
    let out = find(&at("storage"), "out").expect("kept");
    assert_eq!(out.len(), 32 * PAGE);
    assert!(out.blocks() > 0, "nothing but its mapping has written to it");
}

/// The file of this name, wherever it is below.
fn find(folder: &std::path::Path, name: &str) -> Option<std::fs::Metadata> {
    std::fs::read_dir(folder).expect("a folder").find_map(|entry| {
        let entry = entry.expect("an entry");
        match entry.file_type().expect("its type").is_dir() {
            true => find(&entry.path(), name),
            false => entry.metadata().ok().filter(|_| entry.file_name() == name),
        }
    })
}
