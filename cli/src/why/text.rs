//! The answer in words.

use super::chain::Link;
use super::shares::{self, Shares};
use super::simulate;
use super::timeline::{Act, Cause, Timeline, What};
use std::io::{self, Write};
pub use syn_plan::figures::seconds;
use syn_plan::{Evidence, Rule};
use syn_trace::Call;
use syn_trace::calls::effect::{Effect, Mpi};

/// Less than this share of the critical path is not worth a simulation, percent.
const LEAST_SHARE: f64 = 0.5;
/// Kinds of time that one sentence names.
const MOST_NAMED: usize = 4;

/// Why a place was as it was.
pub fn place(
    out: &mut impl Write,
    timeline: &Timeline<'_>,
    act: Act,
    chain: &[Link],
    most: usize,
) -> io::Result<()> {
    match timeline.cause(act) {
        Some(cause) => writeln!(out, "{}", waited(timeline, &cause))?,
        None => {
            let step = timeline.get(act);
            writeln!(
                out,
                "{} was {} for {}, from {:.6} to {:.6} s",
                timeline.name(act.program),
                doing(timeline, act),
                duration(step.end_ns - step.start_ns),
                seconds(step.start_ns),
                seconds(step.end_ns)
            )?;
            writeln!(out, "\nwhat it came after, the latest first:")?;
        }
    }
    let mut told = 0;
    for (nth, link) in chain.iter().enumerate() {
        match link {
            Link::Ran { program, from_ns, to_ns, .. } if to_ns > from_ns => {
                let spent = shares::of(timeline, std::slice::from_ref(link));
                let name = timeline.name(*program);
                writeln!(
                    out,
                    "  {name}, {:.6} to {:.6} s: {}",
                    seconds(*from_ns),
                    seconds(*to_ns),
                    spent_with(&spent)
                )?;
            }
            // The first one is the place itself.
            Link::Waited(cause) if nth > 1 || timeline.cause(act).is_none() => {
                told += 1;
                writeln!(out, "  before that {}", waited(timeline, cause))?;
            }
            _ => {}
        }
    }
    let ends_with_a_wait = matches!(chain.last(), Some(Link::Waited(_)));
    if told >= most && ends_with_a_wait {
        writeln!(out, "  (there is more before; --most {} tells it)", most.max(1).saturating_mul(4))?;
    }
    Ok(())
}

/// What made the run as long as it was.
pub fn whole(
    out: &mut impl Write,
    timeline: &Timeline<'_>,
    critical: &[Link],
    most: usize,
) -> io::Result<()> {
    let end_ns = timeline.end().map_or(0, |end| timeline.get(end).end_ns);
    writeln!(out, "{}: {:.6} s", timeline.plan.about.command, seconds(end_ns))?;
    let waits = timeline.waits(None);
    if most > 0 && !waits.is_empty() {
        writeln!(out, "\nThe longest of {} waits:", waits.len())?;
    }
    for &wait in waits.iter().take(most) {
        if let Some(cause) = timeline.cause(wait) {
            writeln!(out, "  {}", waited(timeline, &cause))?;
        }
    }
    let shares = shares::of(timeline, critical);
    if most > 0 {
        critical_path(out, timeline, critical, &shares, most)?;
    }
    writeln!(out, "\nMore about one wait: --rank N or --program N, with --at TIME")
}

/// What the run's end waited for, and how much earlier it would have come without that.
fn critical_path(
    out: &mut impl Write,
    timeline: &Timeline<'_>,
    critical: &[Link],
    shares: &Shares,
    most: usize,
) -> io::Result<()> {
    let end_ns = timeline.end().map_or(0, |end| timeline.get(end).end_ns);
    let hops = critical.iter().filter(|link| matches!(link, Link::Waited(_))).count();
    writeln!(
        out,
        "\nThe critical path, which the end of the run waited for, goes over {hops} waits. Without its parts the run would have ended earlier, if all else had taken and slept as long as it did:"
    )?;
    writeln!(out, "{:>12} {:>7}  {:>12} {:>8}  what", "time s", "share", "end then s", "change")?;
    let length_ns: u64 = shares.values().sum();
    let baseline_ns = simulate::end_ns(timeline, None);
    for ((group, kind), ns) in shares::sorted(shares).into_iter().take(most) {
        let share = ns as f64 * 100.0 / length_ns.max(1) as f64;
        let what = format!("{}: {}", timeline.group_name(group), kind.name());
        if share < LEAST_SHARE {
            writeln!(out, "{:>12.6} {share:>5.1} %  {:>12} {:>8}  {what}", seconds(ns), "", "")?;
            continue;
        }
        let saved_ns = baseline_ns.saturating_sub(simulate::end_ns(timeline, Some((group, kind))));
        let then_ns = end_ns.saturating_sub(saved_ns);
        let change = saved_ns as f64 * -100.0 / end_ns.max(1) as f64;
        writeln!(
            out,
            "{:>12.6} {share:>5.1} %  {:>12.6} {change:>6.1} %  {what}",
            seconds(ns),
            seconds(then_ns)
        )?;
    }
    Ok(())
}

/// A wait and what ended it, as a sentence.
fn waited(timeline: &Timeline<'_>, cause: &Cause) -> String {
    let What::Wait(edge, _) = timeline.get(cause.wait).what else { return String::new() };
    let [from, to] = timeline.calls(edge);
    let rule = timeline.edge(edge).rule;
    let of_all = to.filter(|call| rule == Rule::Collective && is_called_by_all(call));
    let made = match from.or(of_all) {
        // Its first record comes later.
        _ if rule == Rule::ProcessExec => "was executed".to_owned(),
        Some(call) => format!("came to {call}"),
        None => "let it go on".to_owned(),
    };
    // What it had slept in may be another call, as select is before waitpid.
    let next = to.map_or(String::new(), |call| format!(", and went on with {call}"));
    let Evidence { guarantee, seen, possible, .. } = timeline.edge(edge).evidence;
    format!(
        "{} {} {}, from {:.6} to {:.6} s, until {} {made} at {:.6} s{next} ({rule}: {}, seen in {seen} of {possible} runs)",
        timeline.name(cause.wait.program),
        if cause.spins { "computed, or waited in its own code," } else { "waited" },
        duration(cause.until_ns.saturating_sub(cause.since_ns)),
        seconds(cause.since_ns),
        seconds(cause.until_ns),
        timeline.name(cause.signal.program),
        seconds(cause.signalled_ns),
        guarantee.name(),
    )
}

/// Whether all members of a collective operation come to this very call. (Not so `MPI_Wait`, and `MPI_Init` meets `MPI_Init_thread`.)
fn is_called_by_all(call: &str) -> bool {
    matches!(
        Call::from_name(call).map(Call::effect),
        Some(Effect::Mpi(
            Mpi::Collective(_)
                | Mpi::MakeCommunicator(_)
                | Mpi::FreeCommunicator
                | Mpi::MakeWindow
                | Mpi::MakeDynamicWindow
                | Mpi::FreeWindow
                | Mpi::OpenFile
                | Mpi::CloseFile
                | Mpi::Finalize
        ))
    )
}

fn doing(timeline: &Timeline<'_>, act: Act) -> String {
    match timeline.get(act).what {
        What::Compute(cpu_ns, idle_ns) if idle_ns > cpu_ns => {
            "waiting for something that no rule explains".into()
        }
        What::Compute(..) => "computing".into(),
        What::Sleep => "sleeping, as it asked for,".into(),
        What::Call(name) | What::Mpi(name, ..) => format!("in {name}"),
        What::Signal(edge) => match timeline.calls(edge)[0] {
            Some(call) => format!("in {call}"),
            None => "letting others go on".into(),
        },
        What::Wait(edge, _) => {
            let call = timeline.calls(edge)[1].unwrap_or("a wait");
            format!("in {call}, which others were through with already,")
        }
    }
}

/// What time was spent with, the most first.
fn spent_with(shares: &Shares) -> String {
    let sorted = shares::sorted(shares);
    let named =
        sorted.iter().take(MOST_NAMED).map(|&((_, kind), ns)| format!("{} {}", duration(ns), kind.name()));
    let mut text = named.collect::<Vec<_>>().join(", ");
    if sorted.len() > MOST_NAMED {
        let others: u64 = sorted[MOST_NAMED..].iter().map(|&(_, ns)| ns).sum();
        text += &format!(", {} others", duration(others));
    }
    text
}

/// A duration in the unit in which it is read best.
fn duration(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", seconds(ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_called_by_all;

    #[test]
    fn members_of_a_collective_come_to_the_same_call() {
        for call in ["MPI_Barrier", "MPI_Comm_dup", "MPI_Win_free", "MPI_File_open", "MPI_Finalize"] {
            assert!(is_called_by_all(call), "{call}");
        }
        for call in ["MPI_Init", "MPI_Wait", "MPI_Test", "MPI_Ibarrier", "write"] {
            assert!(!is_called_by_all(call), "{call}");
        }
    }
}
