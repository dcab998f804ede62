//! The watchdogs of the other hosts, as the one that leads them has them.

use super::link::{Link, Message, Secret, Seen};
use crate::output::complain;
use anyhow::{Context, bail};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Within this time all of them are to be there.
const GATHERING: Duration = Duration::from_secs(10);
/// So often who listens looks whether all have come.
const LOOK: Duration = Duration::from_millis(5);

/// All of them that have come.
#[derive(Default)]
pub struct Others {
    links: Vec<(String, Link)>,
}

impl Others {
    /// Waits for those of these hosts; says which have not come.
    pub fn gather(listener: TcpListener, secret: Secret, hosts: &[String]) -> anyhow::Result<Others> {
        let mut others = Others::default();
        if hosts.is_empty() {
            return Ok(others);
        }
        listener.set_nonblocking(true).context("cannot listen")?;
        let (came, coming) = channel();
        let end = Instant::now() + GATHERING;
        let missing = |others: &Others| {
            let has_come = |host: &&String| !others.links.iter().any(|(other, _)| other == *host);
            hosts.iter().filter(has_come).cloned().collect::<Vec<_>>()
        };
        while !missing(&others).is_empty() && Instant::now() < end {
            if let Ok((stream, from)) = listener.accept() {
                // Who says nothing keeps nobody else waiting.
                let came = came.clone();
                std::thread::spawn(move || {
                    let accepted = stream.set_nonblocking(false).map_err(Into::into);
                    let _ = came.send((from, accepted.and_then(|()| Link::accept(stream, &secret))));
                });
            }
            others.take(&coming, hosts);
        }
        let missing = missing(&others);
        if !missing.is_empty() {
            let names = missing.join(", ");
            complain(&format!("warning: no watchdog has come from {names}: what runs there is not watched"));
        }
        Ok(others)
    }

    fn take(
        &mut self,
        coming: &Receiver<(std::net::SocketAddr, anyhow::Result<(String, Link)>)>,
        hosts: &[String],
    ) {
        match coming.recv_timeout(LOOK) {
            Ok((_, Ok((host, link)))) if hosts.contains(&host) => self.links.push((host, link)),
            Ok((from, Ok((host, _)))) => {
                complain(&format!("warning: nobody has asked for a watchdog of {host} ({from})"));
            }
            Ok((from, Err(error))) => complain(&format!("warning: turned away {from}: {error:#}")),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// What they see now, together; they are told whether somebody is held anywhere.
    pub fn look(&mut self, held: bool) -> anyhow::Result<Seen> {
        self.send(Message::Look(held))?;
        let mut all = Seen { held: false, quiet: true, progress: 0 };
        for (host, link) in &mut self.links {
            let lost = || format!("lost the watchdog of {host}");
            let Message::Seen(seen) = link.receive().with_context(lost)? else {
                bail!("{}: it speaks out of turn", lost());
            };
            all.held |= seen.held;
            all.quiet &= seen.quiet;
            all.progress = all.progress.wrapping_add(seen.progress);
        }
        Ok(all)
    }

    /// Says the same to all.
    pub fn send(&mut self, message: Message) -> anyhow::Result<()> {
        for (host, link) in &mut self.links {
            link.send(message).with_context(|| format!("lost the watchdog of {host}"))?;
        }
        Ok(())
    }
}
