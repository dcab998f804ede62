//! The report as a page for a browser.

use super::Report;
use super::balance::Balances;
use super::calls::{CallReport, Measured};
use super::threads::Group;
use crate::page::{beginning, escape};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Most ranks or processes that are drawn.
const DRAWN: usize = 32;

/// A bar's name stands to its left, its length to its right.
const STYLE: &str = ".row{display:flex;align-items:center;font-size:13px;margin:1px 0}.name{flex:0 0 13em;text-align:right;padding-right:.6em}\
    .bar{flex:1;display:flex;height:15px}.bar i{display:block;height:100%}.length{flex:0 0 7em;padding-left:.6em}\
    .key{font-size:13px;margin:.4em 0 .4em 13em}.key span{white-space:nowrap}.key b{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 1em}\
    pre{font-size:12px;white-space:pre-wrap;overflow-wrap:anywhere}";

/// Colours of the parts of a balance; waits for which there is a rule have the last ones, in turn.
const COLOURS: [(&str, &str); 8] = [
    ("work", "#1f5ca8"),
    ("calls, processor", "#3f9c6b"),
    ("calls, device", "#9bcf53"),
    ("sleep", "#c9ced6"),
    ("waiting, unexplained", "#c0392b"),
    ("preempted", "#7d7f83"),
    ("cost of recording", "#222222"),
    ("not measured", "#e377c2"),
];
const WAITS: [&str; 6] = ["#e08214", "#fdb863", "#8073ac", "#b2abd2", "#b35806", "#d8a9c4"];

impl Report {
    /// The page, all of it in one text.
    pub fn page(&self) -> String {
        let mut out = beginning(&self.command, STYLE);
        match self.draw(&mut out) {
            Ok(()) => out,
            Err(error) => unreachable!("writing to a string: {error}"),
        }
    }

    fn draw(&self, out: &mut String) -> fmt::Result {
        write!(out, "<p>{}</p>", escape(&self.how()))?;
        for note in self.warnings.iter().chain(&self.remarks) {
            write!(out, "<p class=note>{}</p>", escape(note))?;
        }
        self.draw_totals(out)?;
        let parts = Parts::of(&self.balance);
        write!(out, "<h2>Where the time of all threads went</h2>")?;
        parts.key(out)?;
        let longest = parts.longest(&self.balance);
        parts.draw(out, "", &self.balance, longest)?;
        self.draw_groups(out, &parts)?;
        if !self.calls.is_empty() {
            write!(out, "<h2>Calls</h2>")?;
            table(out, &self.calls)?;
        }
        write!(out, "<h2>Operations</h2><pre>")?;
        let mut operations = String::new();
        self.divergences.write(&mut operations, &self.left_out)?;
        write!(out, "{}</pre></html>", escape(operations.trim_start()))
    }

    fn draw_totals(&self, out: &mut String) -> fmt::Result {
        let totals = &self.totals;
        write!(out, "<h2>How long it takes</h2>")?;
        let runs = if totals.recorded_runs_s.is_empty() {
            std::slice::from_ref(&totals.recorded_s)
        } else {
            &totals.recorded_runs_s
        };
        let all = [
            ("recorded", runs, COLOURS[5].1),
            ("replayed", totals.replayed_s.each(), COLOURS[0].1),
            ("application there", &totals.application_s, COLOURS[1].1),
        ];
        let longest = all.iter().flat_map(|(_, each, _)| each.iter()).copied().fold(0.0, f64::max);
        for (name, each, colour) in all {
            for (place, &seconds) in each.iter().enumerate() {
                let name = if each.len() > 1 { format!("{name} {}", place + 1) } else { name.to_owned() };
                bar(out, &name, &[(name.as_str(), seconds, colour)], longest)?;
            }
        }
        let mut told = String::new();
        totals.write(&mut told)?;
        write!(out, "<pre>{}</pre>", escape(told.trim_start()))
    }

    /// By rank, or where there are none by process, if there are several.
    fn draw_groups(&self, out: &mut String, parts: &Parts<'_>) -> fmt::Result {
        let by_rank = self.ranks.iter().any(|rank| rank.rank.is_some());
        let mut groups: Vec<(String, &Group)> = if by_rank {
            let name = |rank: Option<u32>| rank.map_or("no rank".into(), |rank| format!("rank {rank}"));
            self.ranks.iter().map(|rank| (name(rank.rank), &rank.times)).collect()
        } else {
            self.processes.iter().map(|process| (process.name.clone(), &process.times)).collect()
        };
        if groups.len() < 2 {
            return Ok(());
        }
        let lengths: Vec<f64> = groups.iter().map(|(_, times)| parts.longest(&times.balance)).collect();
        let mut longest = lengths.clone();
        longest.sort_by(|one, other| other.total_cmp(one));
        let what = if by_rank { "rank" } else { "process" };
        write!(out, "<h2>By {what}</h2>")?;
        let shortest = longest[longest.len().min(DRAWN) - 1].max(longest[0] / 100.0);
        let count = groups.len();
        // They stay in their order.
        let mut lengths = lengths.iter();
        groups.retain(|_| lengths.next().is_some_and(|&length| length >= shortest));
        groups.truncate(DRAWN);
        if groups.len() < count {
            let drawn = groups.len();
            write!(out, "<p class=note>{drawn} of {count}: those whose threads took most time in all</p>")?;
        }
        let longest = longest[0];
        groups
            .iter()
            .try_for_each(|(name, times)| parts.draw(out, &format!("{name}, "), &times.balance, longest))
    }
}

/// Which parts of balances are drawn, in their order, and their colours.
struct Parts<'a>(Vec<(&'a str, &'static str)>);

impl<'a> Parts<'a> {
    fn of(all: &'a Balances) -> Parts<'a> {
        let mut waits = WAITS.iter().cycle();
        let colour = |name: &'a str| {
            let known = COLOURS.iter().find(|(part, _)| *part == name).map(|(_, colour)| *colour);
            (name, known.unwrap_or_else(|| waits.next().unwrap_or(&WAITS[0])))
        };
        let is_there = |seconds: &[Option<f64>; 2]| seconds.iter().flatten().any(|&seconds| seconds > 0.0);
        Parts(
            all.parts().filter(|(_, seconds)| is_there(seconds)).map(|(name, _)| name).map(colour).collect(),
        )
    }

    fn key(&self, out: &mut String) -> fmt::Result {
        write!(out, "<p class=key>")?;
        for (name, colour) in &self.0 {
            write!(out, "<span><b style=\"background:{colour}\"></b>{}</span> ", escape(name))?;
        }
        write!(out, "</p>")
    }

    fn colour(&self, name: &str) -> Option<&'static str> {
        self.0.iter().find(|(part, _)| *part == name).map(|(_, colour)| *colour)
    }

    fn longest(&self, balance: &Balances) -> f64 {
        let sum = |side: usize| balance.parts().filter_map(|(_, seconds)| seconds[side]).sum::<f64>();
        sum(0).max(sum(1))
    }

    /// Two bars, one above the other: recorded and replayed.
    fn draw(&self, out: &mut String, name: &str, balance: &Balances, longest: f64) -> fmt::Result {
        for (side, what) in ["recorded", "replayed"].into_iter().enumerate() {
            let parts: Vec<_> = balance
                .parts()
                .filter_map(|(name, seconds)| Some((name, seconds[side]?, self.colour(name)?)))
                .collect();
            if !parts.is_empty() {
                bar(out, &format!("{name}{what}"), &parts, longest)?;
            }
        }
        Ok(())
    }
}

/// A bar of parts, each with its name, seconds and colour; a bar of `longest` seconds fills the width. Who points at a part is told its length.
fn bar(out: &mut String, name: &str, parts: &[(&str, f64, &str)], longest: f64) -> fmt::Result {
    write!(out, "<div class=row><span class=name>{}</span><span class=bar>", escape(name))?;
    for (part, seconds, colour) in parts.iter().filter(|(_, seconds, _)| *seconds > 0.0) {
        let percent = seconds * 100.0 / longest.max(1e-9);
        let part = escape(part);
        write!(
            out,
            "<i style=\"width:{percent:.3}%;background:{colour}\" title=\"{part}: {seconds:.6} s\"></i>"
        )?;
    }
    let sum: f64 = parts.iter().map(|(_, seconds, _)| seconds).sum();
    write!(out, "</span><span class=length>{sum:.6} s</span></div>")
}

fn table(out: &mut String, calls: &BTreeMap<String, CallReport>) -> fmt::Result {
    write!(
        out,
        "<table><tr><th>call<th>count<th>bytes<th>recorded s<th>p50 µs<th>p99 µs<th>longest µs<th>replayed s<th>p50 µs<th>p99 µs<th>longest µs"
    )?;
    for (name, call) in calls {
        write!(out, "<tr><td>{}<td class=n>{}<td class=n>{}", escape(name), call.count, call.bytes)?;
        for Measured { total_s, latency_us: us } in [&call.recorded, &call.replayed] {
            write!(
                out,
                "<td class=n>{total_s:.6}<td class=n>{:.1}<td class=n>{:.1}<td class=n>{:.1}",
                us.p50, us.p99, us.max
            )?;
        }
    }
    write!(out, "</table>")
}
