//! The same for Graphviz and for Perfetto.

use super::chain::Link;
use super::shares;
use super::timeline::{Act, Timeline, What};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};
use syn_plan::figures::seconds;

/// A way back as a graph: what programs did, and arrows to who waited for it. At most so many waits.
pub fn dot(out: &mut impl Write, timeline: &Timeline<'_>, chain: &[Link], most: usize) -> io::Result<()> {
    writeln!(out, "digraph why {{\n  rankdir=LR;\n  node [shape=box];")?;
    let quoted = |text: &str| Value::from(text).to_string();
    // A way goes back: the piece behind a link is the earlier one.
    for (nth, link) in chain.iter().take(2 * most + 1).enumerate() {
        match link {
            Link::Ran { program, from_ns, to_ns, .. } => {
                let spent = shares::sorted(&shares::of(timeline, std::slice::from_ref(link)));
                let lines = spent
                    .iter()
                    .take(3)
                    .map(|&((_, kind), ns)| format!("{}: {:.6} s", kind.name(), seconds(ns)));
                let head = format!(
                    "{}\n{:.6} to {:.6} s",
                    timeline.name(*program),
                    seconds(*from_ns),
                    seconds(*to_ns)
                );
                let label = std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n");
                writeln!(out, "  n{nth} [label={}];", quoted(&label))?;
            }
            Link::Waited(cause) => {
                let What::Wait(edge, _) = timeline.get(cause.wait).what else { continue };
                let [from, to] = timeline.calls(edge).map(|call| call.unwrap_or("?"));
                let label = format!("{}\n{from} -> {to}", timeline.edge(edge).rule);
                writeln!(out, "  n{} -> n{} [label={}];", nth + 1, nth - 1, quoted(&label))?;
            }
        }
    }
    if chain.len() > 2 * most + 1 {
        writeln!(
            out,
            "  before [shape=plaintext, label=\"(there is more before)\"];\n  before -> n{};",
            2 * most
        )?;
    }
    writeln!(out, "}}")
}

/// All steps as a Chrome trace (the JSON object form): a row for each program, an arrow from each signal to each wait
/// for it that lasted. What is on the critical path has the category `critical`.
pub fn perfetto(out: &mut impl Write, timeline: &Timeline<'_>, critical: &[Link]) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut is_first = true;
    let mut event = |out: &mut dyn Write, value: Value| {
        let comma = if std::mem::take(&mut is_first) { "\n" } else { ",\n" };
        write!(out, "{comma}{value}")
    };
    let on_path = steps_of(critical);
    let us = |ns: u64| ns as f64 / 1e3;
    for (program, steps) in timeline.programs.iter().enumerate() {
        let thread = &timeline.plan.programs[program].thread;
        // Programs are numbered through: process and thread ids may come twice, on two hosts.
        let (pid, tid) = (thread.process, program);
        let named = |what: &str, name: String| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}});
        let process = thread
            .rank
            .map_or_else(|| format!("pid {}", thread.pid), |rank| format!("rank {rank}, pid {}", thread.pid));
        event(out, named("process_name", process))?;
        event(out, named("thread_name", timeline.name(program).to_owned()))?;
        for (step, timed) in steps.iter().enumerate() {
            let act = Act { program, step };
            let name = match timed.what {
                What::Signal(_) => "signal",
                What::Compute(..) => "compute",
                What::Sleep => "sleep",
                What::Call(name) | What::Mpi(name, ..) => name,
                What::Wait(edge, _) => timeline.edge(edge).rule.name(),
            };
            let category = if on_path.contains(&act) { "critical" } else { "step" };
            // An arrow begins in a bar; a signal takes no time.
            let ns = match timed.what {
                What::Signal(_) => 1,
                _ => timed.end_ns - timed.start_ns,
            };
            let (ts, dur) = (us(timed.start_ns), us(ns));
            event(
                out,
                json!({"ph": "X", "name": name, "cat": category, "ts": ts, "dur": dur, "pid": pid, "tid": tid}),
            )?;
        }
    }
    for (id, wait) in timeline.waits(None).into_iter().enumerate() {
        let Some(cause) = timeline.cause(wait) else { continue };
        let What::Wait(edge, _) = timeline.get(cause.wait).what else { continue };
        let name = timeline.edge(edge).rule.name();
        let end = |phase: &str, program: usize, ns: u64| {
            let pid = timeline.plan.programs[program].thread.process;
            json!({"ph": phase, "name": name, "cat": "order", "id": id, "ts": us(ns), "pid": pid, "tid": program})
        };
        event(out, end("s", cause.signal.program, cause.signalled_ns))?;
        let mut finish = end("f", cause.wait.program, (cause.until_ns - 1).max(cause.signalled_ns));
        finish["bp"] = "e".into();
        event(out, finish)?;
    }
    writeln!(out, "\n]}}")
}

/// The steps of a way.
fn steps_of(links: &[Link]) -> BTreeSet<Act> {
    let mut steps = BTreeSet::new();
    for link in links {
        match *link {
            Link::Ran { program, steps: (first, behind), .. } => {
                steps.extend((first..behind).map(|step| Act { program, step }));
            }
            Link::Waited(cause) => drop(steps.insert(cause.wait)),
        }
    }
    steps
}
