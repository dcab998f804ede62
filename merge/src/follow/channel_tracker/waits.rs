//! Who waited for whom at pipes, connections and counters, once all is seen.

use super::ChannelTracker;
use super::lifetimes;
use super::traffic::{Held, Kind};
use crate::clocks::Clocks;
use crate::follow::connections::End;
use crate::graph::dependency::Dependencies;
use crate::rules::eventfd::{self, Counter};
use crate::rules::process_join::ProcessEnd;
use crate::rules::stream::{Closing, Network, Stream};
use crate::rules::{pipe, socket};

impl ChannelTracker {
    /// Who waited for whom, and how many pipes and connections have writers that are not on record.
    pub fn finish(mut self, ends: &[Option<ProcessEnd>]) -> (Dependencies, u64) {
        let mut incomplete = 0;
        self.found.append(std::mem::take(&mut self.rings).finish());
        self.traffic.values().for_each(|here| here.connect_shutdowns(&mut self.found));
        let traffic = &self.traffic;
        let looks = |end| traffic.get(&(Kind::Socket, end)).map_or(Vec::new(), |here| here.looks.clone());
        self.connections.finish(looks, &mut self.found);
        let is_known = |end| traffic.get(&(Kind::Socket, end)).is_none_or(|here| !here.is_unknown);
        std::mem::take(&mut self.datagrams).finish(looks, is_known, &mut self.found);
        let keys: Vec<(Kind, End)> = self.traffic.keys().copied().collect();
        for key in keys {
            if let Some(here) = self.traffic.get_mut(&key) {
                pipe::connect_opens(&std::mem::take(&mut here.opens), &mut self.found);
            }
            // What is received at one end of a connection was sent at the other.
            let from = match key.0 {
                Kind::Pipe => Some(key),
                Kind::Counter => {
                    self.count(key);
                    continue;
                }
                Kind::Socket => self.connections.other(key.1).map(|other| (Kind::Socket, other)),
            };
            let Some(from) = from.filter(|from| self.traffic.contains_key(from)) else { continue };
            if [key, from].iter().any(|end| self.traffic[end].is_unknown) {
                incomplete += 1;
                continue;
            }
            let closings = self.closings(from, ends);
            let Some(sent) = self.traffic.get_mut(&from) else { continue };
            let (writes, room) = (sent.take_writes(), std::mem::take(&mut sent.room));
            let Some(here) = self.traffic.get_mut(&key) else { continue };
            let stream = Stream {
                writes,
                reads: here.take_reads(),
                looks: std::mem::take(&mut here.looks),
                closings,
                capacity: here.capacity,
                room,
                keeps_messages: key.0 == Kind::Socket && self.connections.has_messages(key.1),
                network: self
                    .connections
                    .is_networked(key.1)
                    .then(|| Network::between(key.1.host, from.1.host)),
                is_unaligned: false,
            };
            let mut whole = true;
            if key.0 == Kind::Pipe {
                let over_by = |process: u32| {
                    let last_ns = self.last[process as usize]?.ns;
                    let waits = self.reaped.get(&self.processes[process as usize])?;
                    waits.iter().copied().find(|&ns| ns >= last_ns)
                };
                let gaps = std::mem::take(&mut here.lifetimes).gaps(&self.last, over_by);
                let (streams, all_known) = lifetimes::split(stream, &gaps);
                whole &= all_known;
                streams.into_iter().for_each(|stream| whole &= pipe::connect(stream, &mut self.found));
            } else {
                whole &= socket::connect(stream, &mut self.found);
            }
            incomplete += u64::from(!whole);
        }
        (self.found, incomplete)
    }

    /// Between which moments bytes went from one host to another, whatever the clocks say. Not by directions of which senders are
    /// known to be missing, nor by connections that no clocks fit: there reads met bytes of other writes.
    pub fn between_hosts(mut self, clocks: &Clocks) -> Dependencies {
        let mut found = Dependencies::default();
        let ends: Vec<End> =
            self.traffic.keys().filter(|key| key.0 == Kind::Socket).map(|&(_, end)| end).collect();
        for end in ends {
            let other = self.connections.other(end).filter(|_| !self.connections.has_messages(end));
            let Some(other) = other.filter(|other| other.host != end.host && end < *other) else { continue };
            let mut of_both = Dependencies::default();
            for (from, to) in [(end, other), (other, end)] {
                of_both.append(self.one_way(from, to).unwrap_or_default());
            }
            if clocks.might_fit(&of_both) {
                found.append(of_both);
            }
        }
        found
    }

    /// What went from an end to the other one, on a host with other clocks.
    fn one_way(&mut self, from: End, to: End) -> Option<Dependencies> {
        let sent = self.traffic.get_mut(&(Kind::Socket, from)).filter(|sent| !sent.is_unknown)?;
        let writes = std::mem::take(&mut sent.writes);
        let here = self.traffic.get_mut(&(Kind::Socket, to)).filter(|here| !here.is_unknown)?;
        let reads = std::mem::take(&mut here.reads);
        let mut found = Dependencies::default();
        let stream = Stream { writes, reads, is_unaligned: true, ..Stream::default() };
        socket::connect(stream, &mut found).then_some(found)
    }

    /// Connects what waited for a counter.
    fn count(&mut self, key: (Kind, End)) {
        let Some(here) = self.traffic.get_mut(&key).filter(|here| !here.is_unknown) else { return };
        let additions = here.writes.drain(..).map(|write| write.span).collect();
        let counter = Counter { additions, ..std::mem::take(&mut here.counter) };
        eventfd::connect(counter, &mut self.found);
    }

    /// When every process closed the end; of one that did not, its end. None where nobody knows that of one of them.
    fn closings(&mut self, end: (Kind, End), ends: &[Option<ProcessEnd>]) -> Vec<Closing> {
        let Some(traffic) = self.traffic.get_mut(&end) else { return Vec::new() };
        if let Some(at) = traffic.shut_down {
            return vec![Closing { process: 0, since_ns: 0, end: ProcessEnd::with(at) }];
        }
        let mut closings = std::mem::take(&mut traffic.closings);
        let at_its_end = |(&process, held): (&u32, &Held)| {
            let end = ends[process as usize]?;
            Some(Closing { process, since_ns: held.since_ns, end })
        };
        let at_ends: Option<Vec<Closing>> = traffic.holders.iter().map(at_its_end).collect();
        let Some(at_ends) = at_ends else { return Vec::new() };
        closings.extend(at_ends);
        closings
    }
}
