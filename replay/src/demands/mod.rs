//! What demands of a plan are done with: computation of several kinds, memory, and a partner on the network. Files need
//! nothing of their own: a plan has reads and writes for them.

pub mod kernels;
pub mod memory;
pub mod network;
pub mod own;

use crate::clock::{now_ns, thread_cpu_ns};
use kernels::{Kernel, Loop};
use memory::Memory;
use network::{Calls, Network};
use own::OwnMemory;
use syn_plan::{Demand, Op, Plan, Program};

/// What one program needs for its demands. What cannot be had is known when it is asked for.
#[derive(Debug, Default)]
pub struct Demands {
    loops: Vec<(u32, Loop)>,
    memory: Option<Memory>,
    network: Option<Network>,
    failure: Option<String>,
    begun_ns: u64,
    due_ns: u64,
    own: Own,
    /// When the last step ended that time had to pass for.
    pub last_ns: u64,
}

/// The replay's own memory as last looked at: that costs some calls, and it changes most at the beginning.
#[derive(Debug, Default)]
struct Own {
    bytes: u64,
    begun_ns: u64,
    next_ns: u64,
}

impl Own {
    fn now(&mut self, memory: OwnMemory<'_>, held: u64) -> u64 {
        let now_ns = now_ns();
        if now_ns >= self.next_ns {
            self.bytes = memory.bytes(held);
            self.next_ns = now_ns + (now_ns - self.begun_ns) / 8;
        }
        self.bytes
    }
}

/// True when some program consumes without a recorded call. A plan that was made of recorded events does not.
pub fn are_in(plan: &Plan) -> bool {
    let demands = |program: &Program| program.steps.iter().any(|step| matches!(step.op, Op::Demand(_)));
    plan.about.events == 0 && plan.programs.iter().any(demands)
}

impl Demands {
    /// For what `program` does; the partner is at `peer`, or a thread of this process.
    pub fn of(program: &Program, peer: Option<&str>) -> Demands {
        let (mut most, mut memory, mut exchange, mut within) = (0, false, false, false);
        let mut demands = Demands::default();
        for step in program.steps.iter() {
            let Op::Demand(demand) = step.op else { continue };
            match demand {
                Demand::Busy { kernel, .. } => {
                    if !demands.loops.iter().any(|&(known, _)| known == kernel)
                        && let Some(&made) = Kernel::ALL.get(kernel as usize)
                    {
                        demands.loops.push((kernel, Loop::new(made)));
                    }
                }
                Demand::Resident { bytes } => (most, memory) = (bytes.max(most), true),
                Demand::Touch { .. } => memory = true,
                Demand::Exchange { .. } => exchange = true,
                Demand::Within { .. } => within = true,
                Demand::Stream { sent, received, within: inner, .. } => {
                    exchange |= sent > 0 || received > 0;
                    within |= inner > 0;
                }
                Demand::Last { .. } | Demand::Allocate { .. } => {}
            }
        }
        if memory {
            match Memory::new(most) {
                Ok(memory) => demands.memory = Some(memory),
                Err(error) => demands.failure = Some(format!("{error:#}")),
            }
        }
        if exchange || within {
            match Network::new(exchange, peer, within) {
                Ok(network) => demands.network = Some(network),
                Err(error) => demands.failure = Some(format!("{error:#}")),
            }
        }
        demands
    }

    /// The program begins now.
    pub fn begin(&mut self, now_ns: u64) {
        (self.begun_ns, self.last_ns, self.own.begun_ns) = (thread_cpu_ns(), now_ns, now_ns);
    }

    /// Does what is asked for, but let time pass. After a failure nothing is done any more. `own`: memory of the processes of
    /// the replay themselves.
    pub fn perform(&mut self, demand: Demand, own: Option<OwnMemory<'_>>) {
        if self.failure.is_some() {
            return;
        }
        let done = match demand {
            Demand::Busy { cpu_ns, kernel } => {
                self.due_ns += cpu_ns;
                let left = self.due_ns.saturating_sub(thread_cpu_ns() - self.begun_ns);
                if let Some((_, work)) = self.loops.iter_mut().find(|(known, _)| *known == kernel) {
                    work.burn_ns(left);
                }
                Ok(())
            }
            Demand::Resident { bytes } => {
                if let Some(memory) = &mut self.memory {
                    let own = own.map_or(0, |own| self.own.now(own, memory.held()));
                    memory.hold(bytes.saturating_sub(own));
                }
                Ok(())
            }
            Demand::Touch { bytes } => {
                self.memory.iter_mut().for_each(|memory| memory.pass(bytes));
                Ok(())
            }
            Demand::Exchange { sent, received, block } => self.talk([sent, received, 0], block, 0),
            Demand::Within { bytes, block } => self.talk([0, 0, bytes], block, 0),
            Demand::Stream { sent, received, within, block, calls } => {
                self.talk([sent, received, within], block, calls)
            }
            Demand::Allocate { count, bytes } => {
                memory::allocate(count, bytes);
                Ok(())
            }
            Demand::Last { .. } => Ok(()),
        };
        self.failure = done.err().map(|error| format!("{error:#}"));
    }

    /// Bytes to send, to receive, and to send to ourselves.
    fn talk(&mut self, [sent, received, within]: [u64; 3], block: u64, calls: u32) -> anyhow::Result<()> {
        let Some(network) = &mut self.network else { return Ok(()) };
        network.calls = Calls { write: calls & 1 != 0, read: calls & 2 != 0 };
        network.exchange(sent, received, block)?;
        network.within(within, block)
    }

    /// Bytes sent, received, sent to ourselves; and why it could not go on, if it could not.
    pub fn finish(self) -> ([u64; 3], Option<String>) {
        (self.network.map_or([0; 3], |network| network.moved), self.failure)
    }
}
