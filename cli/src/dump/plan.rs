//! The steps of a plan, program after program, one a line.

use crate::info::kind_of;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};
use syn_plan::{Edge, Evidence, FileId, HandleId, Io, Op, Plan, Program, Step};

/// Writes every step.
pub fn write(out: &mut impl Write, plan: &Plan, json: bool) -> io::Result<()> {
    let handles = Handles::of(plan);
    for (number, program) in plan.programs.iter().enumerate() {
        for (step_number, step) in program.steps.iter().enumerate() {
            let paths = handles.paths(plan, program, &step.op);
            if json {
                let line = as_json(plan, number, step_number, &step, paths);
                serde_json::to_writer(&mut *out, &line)?;
            } else {
                as_text(out, plan, number, &step, paths)?;
            }
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn as_text(
    out: &mut impl Write,
    plan: &Plan,
    number: usize,
    step: &Step,
    paths: [Option<&str>; 2],
) -> io::Result<()> {
    write!(out, "{:>5}.{:09} ", step.start_ns / 1_000_000_000, step.start_ns % 1_000_000_000)?;
    if let Some(rank) = plan.programs[number].thread.rank {
        write!(out, "[{rank}] ")?;
    }
    write!(out, "p{number} {:>11} ns  {}", step.took_ns, step.op)?;
    if let Some(edge) = edge(plan, &step.op) {
        let Evidence { guarantee, seen, possible, .. } = edge.evidence;
        let [from, to] = calls(plan, edge).map(|call| call.unwrap_or("?"));
        write!(out, " ({}, {}, {from} -> {to}, {seen} of {possible} runs)", edge.rule, guarantee.name())?;
    }
    for path in paths.into_iter().flatten() {
        write!(out, " <{}>", path.escape_debug())?;
    }
    Ok(())
}

fn as_json(plan: &Plan, number: usize, step_number: usize, step: &Step, paths: [Option<&str>; 2]) -> Value {
    let thread = &plan.programs[number].thread;
    let mut line = json!({
        "program": number,
        "step": step_number,
        "process": thread.process,
        "pid": thread.pid,
        "image": plan.image(thread),
        "tid": thread.tid,
        "rank": thread.rank,
        "start_ns": step.start_ns,
        "end_ns": step.start_ns.saturating_add(step.took_ns),
        "call": kind_of(&step.op),
        "path": paths[0],
        "args": arguments(&step.op),
    });
    if let Some(edge) = edge(plan, &step.op) {
        let [from, to] = calls(plan, edge);
        let Evidence { guarantee, seen, possible, .. } = edge.evidence;
        line["rule"] = edge.rule.name().into();
        line["evidence"] = json!({
            "guarantee": guarantee.name(),
            "signalled_in": from,
            "awaited_in": to,
            "seen": seen,
            "possible": possible,
        });
    }
    if let Some(path) = paths[1] {
        line["second_path"] = path.into();
    }
    if let Op::Io { result, .. } = step.op {
        // Plans hold errno as a negative result; a dump shows results and errno as the caller saw them.
        line["result"] = result.max(-1).into();
        if result < 0 {
            line["errno"] = result.saturating_neg().into();
        }
    }
    line
}

/// The edge that a step signals or waits for.
fn edge<'a>(plan: &'a Plan, op: &Op) -> Option<&'a Edge> {
    match *op {
        Op::Signal { edge } | Op::Wait { edge, .. } | Op::TimedWait { edge, .. } => {
            plan.edges.get(edge as usize)
        }
        _ => None,
    }
}

/// The calls that signal and await an edge first, where they are known.
fn calls<'a>(plan: &'a Plan, edge: &Edge) -> [Option<&'a str>; 2] {
    let name = |call: Option<u16>| plan.calls.get(usize::from(call?)).map(String::as_str);
    [name(edge.evidence.signalled_in), name(edge.evidence.awaited_in)]
}

/// The fields of an operation, by the names they have in the plan.
fn arguments(op: &Op) -> Value {
    let fields = match op {
        Op::Io { call, .. } => serde_json::to_value(call),
        Op::Demand(demand) => serde_json::to_value(demand),
        Op::Mpi { call, .. } => serde_json::to_value(call),
        other => serde_json::to_value(other),
    };
    // An enum is `{"Variant": {fields}}`, or `"Variant"` without fields.
    match fields {
        Ok(Value::Object(variant)) => variant.into_iter().next().map_or(Value::Null, |(_, fields)| fields),
        _ => Value::Object(Map::new()),
    }
}

/// Which file each handle of each process stands for, where the recording could open it; `None` where it stands for several in turn.
struct Handles(HashMap<(u32, HandleId), Option<FileId>>);

impl Handles {
    fn of(plan: &Plan) -> Handles {
        let mut handles = Handles(HashMap::new());
        for program in &plan.programs {
            for step in program.steps.iter() {
                let (handle, file) = match step.op {
                    Op::Io {
                        call:
                            Io::Open { file, handle, .. }
                            | Io::Inherit { file, handle, .. }
                            | Io::Share { file, handle, .. },
                        result: 0..,
                    } => (handle, Some(file)),
                    Op::Io { call: Io::Dup { handle, new }, result: 0.. } => {
                        (new, handles.file(program, handle))
                    }
                    _ => continue,
                };
                match handles.0.entry((program.thread.process, handle)) {
                    Entry::Vacant(place) => drop(place.insert(file)),
                    Entry::Occupied(mut place) if *place.get() != file => drop(place.insert(None)),
                    Entry::Occupied(_) => {}
                }
            }
        }
        handles
    }

    fn file(&self, program: &Program, handle: HandleId) -> Option<FileId> {
        self.0.get(&(program.thread.process, handle)).copied().flatten()
    }

    fn paths<'a>(&self, plan: &'a Plan, program: &Program, op: &Op) -> [Option<&'a str>; 2] {
        let Op::Io { call, .. } = op else { return [None; 2] };
        let (files, [handle, _]) = call.operands();
        let first = files[0].or_else(|| self.file(program, handle?));
        [first, files[1]].map(|file| plan.files.get(file? as usize).map(|file| file.path.as_str()))
    }
}
