//! What was recorded and has no operation in the plan.

use super::io::refused;
use crate::follow::pass::Seen;
use crate::follow::request_tracker::Asked;
use crate::follow::scope::{Scope, can_be_made, is_deleted, is_of_mpi};
use crate::follow::touched_pages::{Look, is_new};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use syn_plan::LeftOut;
use syn_trace::calls::{Effect, Fact, Field};
use syn_trace::descriptors::{OpenFile, OpenId, Touched};
use syn_trace::{Call, Event, Layer, record};

/// One mapping: process, file, first address.
type Mapping = (u32, OpenId, i64);
/// A call, and what it was on.
type Kind = (Call, &'static str);

#[derive(Clone, Copy, Debug, Default)]
struct Total {
    count: u64,
    bytes: u64,
    ns: u64,
}

/// What is left out, counted.
#[derive(Debug, Default)]
pub struct Unreplayed {
    /// Bytes present and bytes written. Each `pages-touched` record of a mapping counts since the mapping was made.
    mapped: BTreeMap<Mapping, (u64, u64)>,
    /// Bytes of which nobody knows whether they were written.
    unknown: BTreeMap<Mapping, u64>,
    asynchronous_bytes: u64,
    cloned_bytes: u64,
    calls: HashMap<Kind, Total>,
    /// By thread: what the event before was counted as, for the calls that repeat it.
    before: Vec<Option<Kind>>,
}

impl Unreplayed {
    /// An event that became no operation. `file` is what its descriptor stands for, or is mapped there; `is_replayed` if other operations
    /// touch its pages.
    pub fn see(
        &mut self,
        seen: &Seen<'_>,
        touched: &Touched,
        file: Option<&OpenFile>,
        is_replayed: bool,
        scope: &Scope,
        hides_libc_internals: bool,
    ) {
        let in_scope = || touched.path.as_deref().is_some_and(|path| scope.contains(path));
        let (numbers, file_is) = (&seen.event.numbers, file);
        if let (Call::PagesTouched, Some(file)) = (seen.event.call, touched.file) {
            if is_replayed {
                let unknown = Look::of(seen.event).zip(file_is);
                let bytes = unknown.map_or(0, |(look, file)| look.unknown_bytes(is_new(file)));
                let known = self.unknown.entry((seen.process, file, numbers[0])).or_default();
                *known = bytes.max(*known);
            } else if in_scope() {
                let known = self.mapped.entry((seen.process, file, numbers[0])).or_default();
                known.0 = known.0.max(numbers[3].max(0) as u64);
                known.1 = known.1.max(numbers[4].max(0) as u64);
            }
        } else if let Some(bytes) = Asked::of(seen).map(Asked::bytes).filter(|_| in_scope()) {
            self.asynchronous_bytes = self.asynchronous_bytes.saturating_add(bytes);
        }
        let call = seen.event.call;
        let kind = if call == Call::Repeats {
            self.before.get(seen.thread as usize).copied().flatten()
        } else {
            stands_for_itself(call, hides_libc_internals)
                .then(|| (call, on(seen.event, touched, file, scope)))
        };
        self.count(seen, kind);
    }

    fn count(&mut self, seen: &Seen<'_>, kind: Option<Kind>) {
        // What repeats one that is not counted is not counted either.
        self.was(seen.thread, kind);
        let Some(kind) = kind else { return };
        let total = self.calls.entry(kind).or_default();
        let times = if seen.event.call == Call::Repeats { seen.event.numbers[0].max(0) as u64 } else { 1 };
        total.count = total.count.saturating_add(times);
        total.bytes = total.bytes.saturating_add(bytes(seen));
        total.ns = total.ns.saturating_add(seen.end_ns.saturating_sub(seen.start_ns));
    }

    /// An event that became operations: what they do in another way.
    pub fn see_replayed(&mut self, seen: &Seen<'_>) {
        self.was(seen.thread, None);
        if seen.event.call.effect() == Effect::Share && !seen.event.has(record::FAILED) {
            self.cloned_bytes = self.cloned_bytes.saturating_add(seen.event.numbers[4].max(0) as u64);
        }
    }

    /// A call that would be replayed, had it not been asked in vain until something else happened.
    pub fn poll(&mut self, call: Call, ns: u64) {
        let total = self.calls.entry((call, "polling")).or_default();
        (total.count, total.ns) = (total.count + 1, total.ns.saturating_add(ns));
    }

    fn was(&mut self, thread: u32, kind: Option<Kind>) {
        if self.before.len() <= thread as usize {
            self.before.resize(thread as usize + 1, None);
        }
        self.before[thread as usize] = kind;
    }

    /// The calls, most time first.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let named = |(&(call, on), total): (&Kind, &Total)| {
            let name = if on.is_empty() { call.name().to_owned() } else { format!("{} ({on})", call.name()) };
            LeftOut { call: name, count: total.count, bytes: total.bytes, ns: total.ns }
        };
        let mut all: Vec<LeftOut> = self.calls.iter().map(named).collect();
        all.sort_by(|one, other| (Reverse(one.ns), &one.call).cmp(&(Reverse(other.ns), &other.call)));
        all
    }

    /// What to tell about it.
    pub fn remarks(&self) -> Vec<String> {
        let sum = |of: fn(&(u64, u64)) -> u64| self.mapped.values().map(of).fold(0, u64::saturating_add);
        let (present, written) = (sum(|known| known.0), sum(|known| known.1));
        let mut remarks = Vec::new();
        if present > 0 || written > 0 {
            remarks.push(format!(
                "{present} bytes of mapped files were touched in memory ({written} of them known to be written) that the plan does not replay: by children that found them mapped, or where it has no open file any more"
            ));
        }
        let unknown = self.unknown.values().copied().fold(0, u64::saturating_add);
        if unknown > 0 {
            remarks.push(format!(
                "{unknown} bytes of mapped files may have been written to, which nobody knows: the plan reads them"
            ));
        }
        if self.asynchronous_bytes > 0 {
            remarks.push(format!(
                "{} bytes of asynchronous transfers were asked for: the plan does not replay them",
                self.asynchronous_bytes
            ));
        }
        if self.cloned_bytes > 0 {
            remarks.push(format!(
                "{} bytes of files were cloned, which moves none of them: the plan reads and writes them",
                self.cloned_bytes
            ));
        }
        remarks
    }
}

/// Whether the record is of a call that nothing else in the plan stands for: programs and edges stand for the making of
/// processes and threads, and the calls inside those of C streams for these.
fn stands_for_itself(call: Call, hides_libc_internals: bool) -> bool {
    match (call.effect(), call.layer()) {
        (Effect::RingEntry | Effect::BlockEntry, _) => true,
        _ if call.is_on_stream() => hides_libc_internals,
        (Effect::ReadEntry, _) => hides_libc_internals,
        (_, Layer::Mpi | Layer::MpiIo | Layer::Process) => false,
        _ => !call.has(Fact::Note),
    }
}

/// What a call was on, where that is why it is left out.
fn on(event: &Event<'_>, touched: &Touched, file: Option<&OpenFile>, scope: &Scope) -> &'static str {
    match file.map_or(0, |file| file.st_mode) & libc::S_IFMT {
        libc::S_IFIFO => return "pipe",
        libc::S_IFSOCK => return "socket",
        libc::S_IFCHR | libc::S_IFBLK => return "device",
        _ => {}
    }
    match touched.path.as_deref() {
        Some(path) if is_deleted(path) => "removed file",
        Some(path) if scope.contains(path) => refused(event).unwrap_or_default(),
        Some(path) if scope.is_elsewhere(path) => "elsewhere",
        Some(path) if !can_be_made(path) => "name too long",
        Some(path) if scope.has_mpi && is_of_mpi(path) => "MPI's own",
        Some(_) => "system",
        None => "",
    }
}

/// Bytes that a call moved, or asked for where it does not say.
fn bytes(seen: &Seen<'_>) -> u64 {
    let event = seen.event;
    if event.has(record::FAILED) || event.call == Call::Repeats {
        return 0;
    }
    let bytes = match event.call {
        call if call.has(Fact::MovesAtMost) || call.has(Fact::MovesResult) => Some(event.result),
        call if call.has(Fact::MovesAll) => event.field(Field::Bytes),
        _ => return Asked::of(seen).map_or(0, Asked::bytes),
    };
    bytes.unwrap_or(0).max(0) as u64
}
