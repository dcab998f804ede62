//! Calls of MPI as a replay makes them again: communicators and requests by numbers of the plan, messages and operations as
//! they were matched.

mod collectives;
mod file_calls;
mod lists;
mod neighbours;
mod requests;
mod window_calls;

use crate::follow::pass::Seen;
use crate::mpi::{CommId, Communicators, Creation as Made, Matching, Meaning, Worlds, place};
use crate::rules::collective::varies;
use collectives::{Gathered, kind};
use file_calls::OpenFiles;
use foldhash::HashMap;
use lists::Lists;
use neighbours::Neighbours;
use requests::Requests;
use syn_plan::{
    ANY, Arguments, BETWEEN, Collective, Completion, Creation, FIRST_COMMUNICATOR, Members, Mpi, NOBODY,
    NONE, SELF, SendMode, WORLD,
};
use syn_trace::calls::effect::{self, Effect, Members as Part};
use syn_trace::calls::{COMM_NULL, COMM_SELF, COMM_WORLD};
use syn_trace::{Call, Run, record};

/// The most bytes that a call of a plan moves: what MPI's counts hold.
const MOST_BYTES: i64 = i32::MAX as i64;

/// The communication of a run on its way into the plan. Follows communicators as the matcher did, by its numbers.
#[derive(Debug)]
pub struct Communication<'a> {
    worlds: &'a Worlds,
    matching: &'a Matching,
    communicators: Communicators,
    /// By the matcher's number: the plan's.
    numbers: HashMap<CommId, u32>,
    members: Vec<Members>,
    lists: Lists,
    processes: Vec<Requests>,
    /// By process and handle of a persistent collective operation: its communicator's handle.
    persistent: HashMap<(u32, i64), i64>,
    /// The files that each process has open through MPI.
    files: Vec<OpenFiles>,
    /// By the matcher's number of a window: the plan's.
    windows: HashMap<CommId, u32>,
    /// By process and the plan's number of a communicator: its neighbours there.
    neighbours: HashMap<(u32, u32), Neighbours>,
    named: HashMap<Call, Named>,
}

/// What the name of a call says, looked up once.
#[derive(Clone, Copy, Debug)]
struct Named {
    mode: SendMode,
    kind: Option<Collective>,
    completion: Option<Completion>,
}

impl Arguments for Communication<'_> {
    fn size(&self, comm: u32) -> u64 {
        match comm {
            WORLD => self.worlds.ranks() as u64,
            SELF => 1,
            _ => {
                let members = self.members.get((comm - FIRST_COMMUNICATOR) as usize);
                members.into_iter().flatten().map(|&(.., count)| u64::from(count)).sum()
            }
        }
    }

    fn list(&self, list: u32) -> &[u64] {
        self.lists.get(list)
    }
}

impl<'a> Communication<'a> {
    /// Nothing followed yet.
    pub fn new(run: &Run, worlds: &'a Worlds, matching: &'a Matching) -> Communication<'a> {
        Communication {
            worlds,
            matching,
            communicators: Communicators::again(worlds, matching.communicators.clone()),
            numbers: HashMap::default(),
            members: Vec::new(),
            lists: Lists::default(),
            processes: run.processes.iter().map(|_| Requests::default()).collect(),
            persistent: HashMap::default(),
            files: run.processes.iter().map(|_| OpenFiles::default()).collect(),
            windows: HashMap::default(),
            neighbours: HashMap::default(),
            named: HashMap::default(),
        }
    }

    /// The plan's communicators and lists.
    pub fn finish(self) -> (Vec<Members>, Vec<Vec<u64>>) {
        (self.members, self.lists.finish())
    }

    /// What a replay does for a call; nothing for those that it cannot make, and for those of jobs with several worlds.
    pub fn follow(&mut self, seen: &Seen<'_>) -> Option<Mpi> {
        let Effect::Mpi(form) = seen.event.call.effect() else { return None };
        let succeeded = seen.event.result == 0 || seen.event.has(record::BEGAN);
        if !succeeded || !self.worlds.is_one(seen.process) {
            return None;
        }
        self.lists.begin();
        // A damaged trace may name any rank.
        self.again(seen, form).filter(|call| call.is_possible(self))
    }

    fn again(&mut self, seen: &Seen<'_>, form: effect::Mpi) -> Option<Mpi> {
        use effect::Mpi as Form;
        let (call, n) = (seen.event.call, &seen.event.numbers);
        let named = self.named(call);
        let requests = &mut self.processes[seen.process as usize];
        match form {
            Form::Init | Form::Finalize => {
                self.communicators.take_part(seen.process, COMM_WORLD);
                Some(if form == Form::Init { Mpi::Init } else { Mpi::Finalize })
            }
            Form::Send(_) => {
                let (comm, peer) = self.to(seen, n[3], n[1])?;
                Some(Mpi::Send { mode: named.mode, comm, peer, tag: n[2] as i32, bytes: bytes(n[0]) })
            }
            Form::SendRequest(_) => {
                let request = requests.begin(n[4], seen.thread, false);
                let (comm, peer) = self.to(seen, n[3], n[1])?;
                Some(Mpi::Isend {
                    mode: named.mode,
                    comm,
                    peer,
                    tag: n[2] as i32,
                    bytes: bytes(n[0]),
                    request,
                })
            }
            Form::SendInit(_) => {
                let request = requests.begin(n[4], seen.thread, true);
                let comm = self.comm(seen.process, n[3])?;
                let peer = if comm == SELF { NOBODY } else { self.peer(seen.process, n[3], n[1] as i32) };
                Some(Mpi::SendInit {
                    mode: named.mode,
                    comm,
                    peer,
                    tag: n[2] as i32,
                    bytes: bytes(n[0]),
                    request,
                })
            }
            Form::Receive => {
                let (comm, peer, tag) = self.from(seen, n[3], n[4], n[5])?;
                Some(Mpi::Recv { comm, peer, tag, bytes: bytes(n[0]) })
            }
            Form::ReceiveRequest => {
                let request = requests.begin(n[4], seen.thread, false);
                let (comm, peer, tag) = self.from(seen, n[3], n[1], n[2])?;
                Some(Mpi::Irecv { comm, peer, tag, bytes: bytes(n[0]), request })
            }
            Form::ReceiveInit => {
                let request = requests.begin(n[4], seen.thread, true);
                let comm = self.comm(seen.process, n[3])?;
                let peer = if comm == SELF { NOBODY } else { self.peer(seen.process, n[3], n[1] as i32) };
                Some(Mpi::RecvInit { comm, peer, tag: n[2] as i32, bytes: bytes(n[0]), request })
            }
            Form::SendReceive => {
                let (comm, peer) = self.to(seen, n[6], n[1])?;
                let (_, source, received_tag) = self.from(seen, n[6], n[7], n[8])?;
                let replace = call.name().ends_with("replace");
                let (tag, room) = (n[2] as i32, bytes(n[3]));
                Some(Mpi::Sendrecv {
                    comm,
                    peer,
                    tag,
                    bytes: bytes(n[0]),
                    source,
                    received_tag,
                    room,
                    replace,
                })
            }
            Form::Probe | Form::MatchedProbe if n[3] == 0 => None,
            Form::Probe => {
                let (comm, peer, tag) = self.from(seen, n[2], n[4], n[5])?;
                Some(Mpi::Probe { comm, peer, tag, test: has_flag(call) })
            }
            Form::MatchedProbe => {
                let request = requests.begin_message(n[7], seen.thread);
                let (comm, peer, tag) = self.from(seen, n[2], n[4], n[5])?;
                Some(Mpi::Mprobe { comm, peer, tag, test: has_flag(call), request })
            }
            Form::MatchedReceive => {
                Some(Mpi::Mrecv { request: requests.end_message(n[1], seen.thread)?, bytes: bytes(n[0]) })
            }
            Form::MatchedReceiveRequest => {
                let request = requests.end_message(n[1], seen.thread)?;
                Some(Mpi::Imrecv {
                    request,
                    bytes: bytes(n[0]),
                    new: requests.begin(n[2], seen.thread, false),
                })
            }
            Form::Start => {
                let started = seen.event.list.iter().filter_map(|handle| requests.get(handle, seen.thread));
                let list = self.lists.number(started.map(u64::from).collect());
                for handle in seen.event.list.iter() {
                    if let Some(&comm) = self.persistent.get(&(seen.process, handle)) {
                        self.communicators.take_part(seen.process, comm);
                    }
                }
                Some(Mpi::Start { list, all: call.name().ends_with("all") })
            }
            Form::FreeRequest if self.persistent.remove(&(seen.process, n[0])).is_some() => {
                Some(Mpi::RequestFree { request: requests.end(n[0], seen.thread, true)? })
            }
            Form::FreeRequest => Some(Mpi::RequestFree { request: requests.end(n[0], seen.thread, true)? }),
            // In a replay the message may come later, and would be left for the next receive.
            Form::Cancel if self.matching.refused.contains(&(seen.thread, seen.record)) => None,
            Form::Cancel => Some(Mpi::Cancel { request: requests.get(n[0], seen.thread)? }),
            Form::Test if n[1] == 0 => None,
            Form::Wait | Form::Test => {
                let mut completed = Vec::new();
                let mut numbers = seen.event.list.iter();
                while let Some(handle) = numbers.next() {
                    completed.extend(requests.end(handle, seen.thread, false).map(u64::from));
                    numbers.nth(2);
                }
                let list = self.lists.number(completed);
                Some(Mpi::Complete { how: named.completion?, given: n[0].max(0) as u32, list })
            }
            Form::MakeCommunicator(part) => self.create(seen, part),
            Form::FreeCommunicator => {
                let comm = self.comm(seen.process, n[0])?;
                self.communicators.free(seen.process, n[0]);
                (comm >= FIRST_COMMUNICATOR).then_some(Mpi::FreeComm { comm })
            }
            // A replay starts no worlds. To have made it counts among the operations on the communicator, as for the matcher.
            Form::StartWorld => {
                self.communicators.take_part(seen.process, n[2]);
                None
            }
            Form::Collective(_) => {
                let Gathered { kind, comm, root, sent, received, counts, from } = self.gather(seen, n[3])?;
                Some(Mpi::Collective { kind, comm, root, sent, received, counts, from })
            }
            Form::CollectiveRequest(_) => {
                let request = requests.begin(n[4], seen.thread, false);
                let Gathered { kind, comm, root, sent, received, counts, from } = self.gather(seen, n[3])?;
                Some(Mpi::Icollective { kind, comm, root, sent, received, counts, from, request })
            }
            // What the others give is known of each time it is started, not of the request.
            Form::CollectiveInit(_) => {
                self.persistent.insert((seen.process, n[4]), n[3]);
                let (comm, kind) = (self.comm(seen.process, n[3])?, named.kind?);
                // Between two groups who is not the root does not know it.
                if self.is_between(seen.process, n[3]) {
                    return None;
                }
                let root = n[2] as i32;
                let Gathered { sent, received, counts, from, .. } = match kind {
                    kind if kind.is_among_neighbours() => self.gather_neighbours(seen, kind, comm)?,
                    _ if varies(call) => return None,
                    kind => {
                        let [sent, received] = [n[0], n[1]].map(bytes);
                        Gathered { kind, comm, root, sent, received, counts: 0, from: 0 }
                    }
                };
                let request = self.processes[seen.process as usize].begin(n[4], seen.thread, true);
                Some(Mpi::CollectiveInit { kind, comm, root, sent, received, counts, from, request })
            }
            // A plan has none; not every MPI does.
            Form::SendPartitions
            | Form::ReceivePartitions
            | Form::Ready
            | Form::ReadyRange
            | Form::ReadyList
            | Form::Arrived => None,
            // See `file_calls`.
            Form::OpenFile
            | Form::CloseFile
            | Form::DeleteFile
            | Form::ResizeFile
            | Form::AskFile
            | Form::ViewFile
            | Form::SeekFile
            | Form::SeekSharedFile
            | Form::TransferFile
            | Form::TransferFileRequest
            | Form::BeginTransferFile
            | Form::EndTransferFile => None,
            // Who uses a window without memory says where by addresses, and these are not known.
            Form::MakeDynamicWindow => {
                self.communicators.take_part(seen.process, n[0]);
                let _ = self.communicators.create_window(self.worlds, seen.process, n[0], n[1]);
                None
            }
            Form::MakeWindow => self.make_window(seen),
            Form::TestExposure if n[1] == 0 => None,
            Form::FreeWindow
            | Form::Fence
            | Form::OpenAccess
            | Form::CloseAccess
            | Form::OpenExposure
            | Form::CloseExposure
            | Form::TestExposure
            | Form::LockTarget
            | Form::LockAll
            | Form::FlushTarget
            | Form::FlushAll
            | Form::UnlockTarget
            | Form::UnlockAll
            | Form::Rma
            | Form::RmaRequest => self.on_window(seen, form),
        }
    }

    /// What the name of a call says.
    fn named(&mut self, call: Call) -> Named {
        *self.named.entry(call).or_insert_with(|| Named {
            mode: mode(call),
            kind: kind(call),
            completion: Completion::named(call.name()),
        })
    }

    /// The plan's number of a communicator.
    fn comm(&mut self, process: u32, handle: i64) -> Option<u32> {
        match handle {
            COMM_WORLD => return Some(WORLD),
            COMM_SELF => return Some(SELF),
            _ => {}
        }
        match *self.communicators.meaning(process, handle)? {
            Meaning::Within(joined) | Meaning::Between(Some(joined)) => {
                self.numbers.get(&joined.comm).copied()
            }
            Meaning::Alone => Some(SELF),
            Meaning::Between(None) => None,
        }
    }

    /// Whether it is an inter-communicator.
    fn is_between(&mut self, process: u32, handle: i64) -> bool {
        matches!(self.communicators.meaning(process, handle), Some(Meaning::Between(_)))
    }

    /// Whom a process means by a rank, in the plan's numbers: in an inter-communicator these are of both groups. A rank that is not there
    /// stays one.
    fn peer(&mut self, process: u32, handle: i64, rank: i32) -> i32 {
        match self.communicators.meaning(process, handle) {
            Some(&mut Meaning::Between(Some(joined))) if rank >= 0 => {
                match self.communicators.get(joined.comm).peer(joined.rank, rank.into()) as i32 {
                    ANY => i32::MIN,
                    peer => peer,
                }
            }
            _ => rank,
        }
    }

    /// Where a send goes. To nobody where nobody received it, or it is the process itself on a communicator of its own.
    fn to(&mut self, seen: &Seen<'_>, handle: i64, peer: i64) -> Option<(u32, i32)> {
        let comm = self.comm(seen.process, handle)?;
        let nobody = comm == SELF || self.matching.unsent.contains(&place(seen.enter()));
        Some((comm, if nobody { NOBODY } else { self.peer(seen.process, handle, peer as i32) }))
    }

    /// Where the message of a receive, or of a probe, came from.
    fn from(&mut self, seen: &Seen<'_>, handle: i64, source: i64, tag: i64) -> Option<(u32, i32, i32)> {
        let comm = self.comm(seen.process, handle)?;
        let place = place(seen.enter());
        if comm == SELF || self.matching.unreceived.contains(&place) {
            return Some((comm, NOBODY, tag as i32));
        }
        let asked = (source as i32, tag as i32);
        let known = asked.0 != ANY && asked.1 != ANY;
        let (source, tag) = if known { asked } else { *self.matching.got.get(&place).unwrap_or(&asked) };
        Some((comm, self.peer(seen.process, handle, source), tag))
    }
}

impl Communication<'_> {
    fn create(&mut self, seen: &Seen<'_>, part: Part) -> Option<Mpi> {
        let (process, [parent, handle, ..]) = (seen.process, seen.event.numbers);
        let runs: Vec<i64> = seen.event.list.iter().collect();
        let comm = self.comm(process, parent);
        let creation = Made { part, parent, handle, members: &runs };
        let (instance, known) = self.communicators.make(self.worlds, process, &creation);
        let remote = self.matching.told.get(&((seen.thread, seen.record), Call::MpiRemoteGroup));
        if let Some(remote) = remote {
            self.communicators.bridge(self.worlds, process, handle, remote);
        }
        if part == Part::Between {
            // The first operation on it is its making.
            self.communicators.take_part(process, handle);
        }
        let instance = instance.filter(|_| creation.is_over_old());
        let broken = instance.is_some_and(|instance| self.matching.broken.contains(&instance.id));
        if broken || !known {
            return None;
        }
        // Before the new one has a number: whatever has one is made.
        let comm = comm?;
        let new = match handle {
            COMM_NULL => NONE,
            _ => self.number(process, handle, &runs, remote.map_or(&[], |remote| remote))?,
        };
        if part == Part::Between {
            return Some(Mpi::MakeBridge { comm, new });
        }
        // Of two groups, who is not in the new one would have to say who of the own group is.
        let how = Creation::named(seen.event.call.name());
        let how = how.filter(|&how| how != Creation::Create || !self.is_between(process, parent));
        let how = how.unwrap_or(Creation::Split);
        Some(self.make_topology(seen, (how, comm, new)).unwrap_or(Mpi::MakeComm { how, comm, new }))
    }

    /// The number of a communicator that has just been made, of these members, or of these and the `remote` ones.
    fn number(&mut self, process: u32, handle: i64, runs: &[i64], remote: &[i64]) -> Option<u32> {
        let (Meaning::Within(joined) | Meaning::Between(Some(joined))) =
            *self.communicators.meaning(process, handle)?
        else {
            return None;
        };
        let first_group = self.communicators.get(joined.comm).first_group;
        let next = FIRST_COMMUNICATOR + self.members.len() as u32;
        let members = &mut self.members;
        Some(*self.numbers.entry(joined.comm).or_insert_with(|| {
            let run = |run: &[i64]| (run[0] as u32, run[1] as i32, run[2] as u32);
            let group = |runs: &[i64]| -> Members {
                runs.chunks_exact(3).map(run).filter(|&(.., count)| count > 0).collect()
            };
            members.push(match [runs, remote].map(group) {
                [all, _] if first_group == 0 => all,
                [local, remote] if joined.rank < first_group => [local, vec![BETWEEN], remote].concat(),
                [local, remote] => [remote, vec![BETWEEN], local].concat(),
            });
            next
        }))
    }
}

fn bytes(number: i64) -> u64 {
    number.clamp(0, MOST_BYTES) as u64
}

fn mode(call: Call) -> SendMode {
    let name = call.name().trim_end_matches("_init");
    let modes =
        [("send", SendMode::Standard), ("bsend", SendMode::Buffered), ("ssend", SendMode::Synchronous)];
    let name = name.trim_start_matches("MPI_").trim_start_matches('I').to_ascii_lowercase();
    modes.iter().find(|(one, _)| *one == name).map_or(SendMode::Ready, |&(_, mode)| mode)
}

/// Probes that return without a message where there is none.
fn has_flag(call: Call) -> bool {
    call.name().starts_with("MPI_I")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_how_a_message_is_sent() {
        let modes =
            [Call::MpiSend, Call::MpiIsend, Call::MpiIbsend, Call::MpiSsendInit, Call::MpiIrsend].map(mode);
        use SendMode::*;
        assert_eq!(modes, [Standard, Standard, Buffered, Synchronous, Ready]);
    }
}
