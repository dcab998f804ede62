//! One JSON object a line; the fields are promised in the README.
//!
//! Written by hand: a dump has millions of lines of the same few fields, and names and numbers need no escaping.

use super::errno;
use super::timeline::{Item, Line};
use std::io::{self, Write};
use syn_trace::calls::Kind;
use syn_trace::descriptors::Touched;
use syn_trace::record::{BEGAN, FAILED, SIGNAL};
use syn_trace::{Event, text};

/// Writes a line. `host`: with the host's name, for runs of several.
pub fn write(out: &mut impl Write, line: &Line<'_>, host: bool) -> io::Result<()> {
    write!(out, "{{\"pid\":{},\"tid\":{},\"rank\":", line.process.pid, line.thread.tid())?;
    match line.process.rank {
        Some(rank) => write!(out, "{rank}")?,
        None => out.write_all(b"null")?,
    }
    if host {
        out.write_all(b",\"host\":")?;
        string(out, &line.process.host)?;
    }
    match &line.item {
        Item::Call(event, touched) => call(out, line, event, touched)?,
        Item::Gap(gap, depth) => write!(
            out,
            ",\"start_ns\":{},\"end_ns\":{},\"call\":\"compute\",\"layer\":\"compute\",\"depth\":{depth},\"cpu_ns\":{},\"waited_ns\":{}",
            gap.start_ns,
            gap.start_ns + gap.wall_ns,
            gap.cpu_ns,
            gap.waited_ns
        )?,
    }
    out.write_all(b"}\n")
}

fn call(out: &mut impl Write, line: &Line<'_>, event: &Event<'_>, touched: &Touched) -> io::Result<()> {
    let (start, end) = (line.thread.start_ns(event), line.thread.end_ns(event));
    let (name, layer, depth) = (event.call.name(), event.call.layer().name(), event.depth());
    write!(
        out,
        ",\"start_ns\":{start},\"end_ns\":{end},\"call\":\"{name}\",\"layer\":\"{layer}\",\"depth\":{depth},\"path\":"
    )?;
    match &touched.path {
        Some(path) => string(out, path)?,
        None => out.write_all(b"null")?,
    }
    if let Some(path) = &touched.second_path {
        out.write_all(b",\"second_path\":")?;
        string(out, path)?;
    }
    out.write_all(b",\"args\":{")?;
    arguments(out, event, touched)?;
    write!(out, "}},\"result\":{}", event.result)?;
    if event.has(FAILED) {
        write!(out, ",\"errno\":{}", event.errno)?;
        if let Some(name) = errno::name(event.errno) {
            write!(out, ",\"errno_name\":\"{name}\"")?;
        }
    }
    if event.has(BEGAN) {
        out.write_all(b",\"began\":true")?;
    }
    if event.has(SIGNAL) {
        out.write_all(b",\"signal\":true")?;
    }
    Ok(())
}

fn arguments(out: &mut impl Write, event: &Event<'_>, touched: &Touched) -> io::Result<()> {
    let mut texts = event.texts.iter();
    for (position, arg) in event.call.args().iter().enumerate() {
        let comma = if position == 0 { "" } else { "," };
        write!(out, "{comma}\"{}\":", arg.name)?;
        if arg.kind.is_number() {
            let number = event.numbers[position];
            // Above a mode may be the device.
            let number = if arg.kind == Kind::Mode { number & 0xffff_ffff } else { number };
            write!(out, "{number}")?;
        } else if arg.kind.is_text() {
            string(out, &text::escape(&texts.next().copied().unwrap_or_default().bytes()))?;
        } else {
            out.write_all(b"[")?;
            for (index, number) in event.list.iter().enumerate() {
                write!(out, "{}{number}", if index == 0 { "" } else { "," })?;
            }
            out.write_all(b"]")?;
        }
    }
    // Whom the bytes went to or came from, which is no argument where the socket is connected.
    if let (Some(peer), Some(_)) = (&touched.peer, event.call.requested()) {
        out.write_all(b",\"peer\":")?;
        string(out, peer)?;
    }
    Ok(())
}

/// A JSON string (RFC 8259, section 7).
fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(Into::into)
}
