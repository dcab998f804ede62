//! What every thread of a run did, as far as another run can be compared with it.

use crate::follow::pass::{Seen, Visitor};
use crate::follow::scope::below;
use crate::graph::dependency::{Point, Stage};
use crate::load::Recorded;
use foldhash::HashMap;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hash, Hasher};
use syn_trace::calls::effect::{Effect, Mpi, Sync};
use syn_trace::calls::{Fact, Field};
use syn_trace::descriptors::{Descriptors, Touched};
use syn_trace::reader::Event;
use syn_trace::{Call, Layer, record};

/// A thread's events. Memory: 8 bytes for each, and 8 for each call with others inside.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// Call, file, size and failure of each.
    pub classes: Vec<u32>,
    /// How many records of the thread precede each.
    pub records: Vec<u32>,
    /// Calls with others inside: the first record inside, their own.
    pub(super) around: Vec<(u32, u32)>,
}

impl Events {
    /// A point as it would be if calls had no others inside: where a call is entered, by its own record. So it does not depend
    /// on what a library happened to do there.
    pub fn plain(&self, point: Point) -> Point {
        match self.around.binary_search_by_key(&point.record, |&(first, _)| first) {
            Ok(place) if point.stage == Stage::Around => {
                Point { record: self.around[place].1, stage: Stage::Enter, ..point }
            }
            _ => point,
        }
    }

    /// The opposite.
    pub fn nested(&self, point: Point) -> Point {
        match self.around.binary_search_by_key(&point.record, |&(_, call)| call) {
            Ok(place) if point.stage == Stage::Enter => {
                Point { record: self.around[place].0, stage: Stage::Around, ..point }
            }
            _ => point,
        }
    }
}

/// Gathers the events of all threads; a visitor.
#[derive(Debug, Default)]
pub struct Outline {
    /// By thread.
    pub threads: Vec<Events>,
    /// The folder in which the application was started: jobs often have one each.
    pub(super) started_in: String,
    /// By what stands for the name of a temporary file: what stands for its kind. Each run has other names.
    pub(super) temporary: HashMap<u64, u64>,
}

impl Outline {
    /// Of a run, nothing seen yet.
    pub fn new(recorded: &Recorded) -> Outline {
        let first = recorded.application().next();
        Outline {
            threads: vec![Events::default(); recorded.run.threads.len()],
            started_in: first.map_or("", |process| process.cwd.trim_end_matches('/')).to_owned(),
            temporary: HashMap::default(),
        }
    }

    /// What stands for the file that an event is about.
    fn file(&mut self, seen: &Seen<'_>, path: Option<&str>) -> u64 {
        let hash = |name: &Option<&str>| FixedState::default().hash_one(name);
        let path = path.map(|path| below(&self.started_in, path).unwrap_or(path));
        let name = hash(&path);
        if let Some(kind) = path.filter(|_| makes_temporary_file(seen.event)).map(kind_of) {
            self.temporary.insert(name, FixedState::default().hash_one(kind));
        }
        self.temporary.get(&name).copied().unwrap_or(name)
    }
}

/// As mkstemp(3) does.
fn makes_temporary_file(event: &Event<'_>) -> bool {
    const MODE: i64 = 0o600;
    const EXCLUSIVE: i64 = (libc::O_CREAT | libc::O_EXCL) as i64;
    event.call.effect() == Effect::Open
        && !event.has(record::FAILED)
        && event.field(Field::Flags).is_some_and(|flags| flags & EXCLUSIVE == EXCLUSIVE)
        && event.field(Field::Mode) == Some(MODE)
}

/// What a temporary file's name has in common with that of the next run: the folder, and what stands behind the last point.
fn kind_of(path: &str) -> (&str, &str) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    (folder, name.rsplit_once('.').map_or("", |(_, extension)| extension))
}

/// Whether an event comes in every run in which the program does the same. How often it asks in vain depends on timing alone, and so
/// does what a library does to wait, and whether a lock is contended, without which it has no record. Nor do notes count: that a call
/// was entered is noted only if something is recorded inside it, and a hold is the recorder's own.
fn is_compared(event: &Event<'_>, on_stream: bool) -> bool {
    let failed = event.has(record::FAILED);
    let outcome = if failed { i64::from(event.errno) } else { event.result };
    let in_vain = matches!(event.call, Call::Repeats | Call::Entered | Call::Held)
        || event.call.is_idle(failed, outcome, &event.numbers)
        || failed && event.errno == libc::EINTR;
    let waits = matches!(event.call.layer(), Layer::Socket | Layer::Sync | Layer::Time);
    let of_library = (waits || on_stream) && event.has(record::INNER);
    let by_chance = match event.call.effect() {
        Effect::Sleep => true,
        Effect::AwaitReadiness | Effect::AwaitProcess | Effect::AwaitProcessById => {
            !failed && event.result == 0
        }
        Effect::Sync(sync) => is_recorded_if_contended(sync),
        _ => false,
    };
    !(in_vain || of_library || by_chance)
}

fn is_recorded_if_contended(sync: Sync) -> bool {
    matches!(
        sync,
        Sync::LockMutex
            | Sync::UnlockMutex
            | Sync::AwaitCondition
            | Sync::SignalCondition
            | Sync::BroadcastCondition
            | Sync::LockToRead
            | Sync::LockToWrite
            | Sync::UnlockRwlock
            | Sync::TakeSemaphore
            | Sync::PostSemaphore
            | Sync::Futex
    )
}

impl Visitor for Outline {
    fn see(&mut self, seen: &Seen<'_>, touched: &Touched, descriptors: &Descriptors) {
        let event = seen.event;
        let file = self.file(seen, touched.path.as_deref());
        let events = &mut self.threads[seen.thread as usize];
        if seen.first_inside < seen.record {
            events.around.push((seen.first_inside, seen.record));
        }
        let on_stream = touched.file.is_some_and(|file| descriptors.open_file(file).is_stream());
        if !is_compared(event, on_stream) {
            return;
        }
        let mut hasher = FixedState::default().build_hasher();
        (event.call as u16).hash(&mut hasher);
        file.hash(&mut hasher);
        event.has(record::FAILED).then_some(event.errno).hash(&mut hasher);
        match event.call.effect() {
            // How much a read of a socket gets at a time is chance.
            _ if event.call.has(Fact::MovesAtMost) && !on_stream => event.result.hash(&mut hasher),
            Effect::Mpi(Mpi::Send(_) | Mpi::SendRequest(_) | Mpi::Receive) => {
                event.field(Field::Bytes).hash(&mut hasher);
            }
            Effect::Mpi(Mpi::Collective(_) | Mpi::CollectiveRequest(_)) => {
                event.numbers[..2].hash(&mut hasher)
            }
            _ => {}
        }
        events.classes.push(hasher.finish() as u32);
        events.records.push(seen.record);
    }
}
