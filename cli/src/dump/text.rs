//! One line a person can read: when, who, how long, what.

use super::errno;
use super::symbols::Symbol;
use super::timeline::{Item, Line};
use std::io::{self, Write};
use syn_trace::calls::{Effect, Kind, Layer};
use syn_trace::descriptors::Touched;
use syn_trace::record::{BEGAN, FAILED};
use syn_trace::{Event, text};

/// Numbers of a list that are shown.
const LISTED: usize = 16;

/// Writes a line. `host`: with the host's name, for runs of several.
pub fn write(out: &mut impl Write, line: &Line<'_>, host: bool) -> io::Result<()> {
    let (start, end) = match &line.item {
        Item::Call(event, _) => (line.thread.start_ns(event), line.thread.end_ns(event)),
        Item::Gap(gap, _) => (gap.start_ns, gap.start_ns + gap.wall_ns),
    };
    write!(out, "{:>5}.{:09} ", start / 1_000_000_000, start % 1_000_000_000)?;
    if host {
        write!(out, "{} ", line.process.host)?;
    }
    if let Some(rank) = line.process.rank {
        write!(out, "[{rank}] ")?;
    }
    write!(out, "{}/{} ", line.process.pid, line.thread.tid())?;
    write!(out, "{:>11} ns  ", end - start)?;
    match &line.item {
        Item::Gap(gap, depth) => {
            write!(out, "{}compute cpu={}", indent(*depth), gap.cpu_ns)?;
            if gap.waited_ns > 0 {
                write!(out, " waited={}", gap.waited_ns)?;
            }
        }
        Item::Call(event, touched) => call(out, event, touched)?,
    }
    out.write_all(b"\n")
}

const fn indent(depth: u32) -> &'static str {
    if depth == 0 { "" } else { "  " }
}

fn call(out: &mut impl Write, event: &Event<'_>, touched: &Touched) -> io::Result<()> {
    write!(out, "{}{}(", indent(event.depth()), event.call.name())?;
    let (mut texts, mut separator) = (event.texts.iter(), "");
    // One behind each descriptor; the second path is a descriptor's only if there is a second file.
    let second = touched.second_file.and(touched.second_path.as_ref());
    // A submission is about its file, which stands behind the ring.
    let skipped = usize::from(event.call.effect() == Effect::RingEntry);
    let mut paths = std::iter::repeat_n(None, skipped).chain([touched.path.as_ref(), second]);
    let mut peer = touched.peer.as_ref();
    for (position, arg) in event.call.args().iter().enumerate() {
        write!(out, "{separator}{}=", arg.name)?;
        separator = ", ";
        if arg.kind.is_number() {
            let (kind, value) = (arg.kind, event.numbers[position]);
            write!(out, "{}", Symbol { kind, value })?;
            // The address of a mapping stands for its file as a descriptor does.
            if (kind == Kind::Fd || kind == Kind::Handle && event.call.layer() == Layer::Mmap)
                && let Some(path) = paths.next().flatten()
            {
                write!(out, "<{}>", path.escape_debug())?;
            } else if kind == Kind::Fd
                && let Some(peer) = peer.take()
            {
                write!(out, "<{}>", peer.escape_debug())?;
            }
        } else if arg.kind.is_text() {
            write!(out, "{:?}", text::escape(&texts.next().copied().unwrap_or_default().bytes()))?;
        } else {
            list(out, event)?;
        }
    }
    if event.has(BEGAN) {
        out.write_all(") …".as_bytes())
    } else if event.has(FAILED) {
        match errno::name(event.errno) {
            Some(name) => write!(out, ") = -1 {name}"),
            None => write!(out, ") = -1 errno {}", event.errno),
        }
    } else {
        write!(out, ") = {}", event.result)
    }
}

fn list(out: &mut impl Write, event: &Event<'_>) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, number) in event.list.iter().take(LISTED).enumerate() {
        write!(out, "{}{number}", if index == 0 { "" } else { ", " })?;
    }
    if event.list.len() > LISTED {
        write!(out, ", … {} in all", event.list.len())?;
    }
    out.write_all(b"]")
}
