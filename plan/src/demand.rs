//! Demands: what a sample of a profile consumed, whatever calls it took. They have no result; what they take is CPU time,
//! memory and bytes of the machine that replays.

use crate::fields::{Bytes, put, take};
use serde::Serialize;
use std::fmt::{Display, Formatter, Result};

/// What is consumed. Times are nanoseconds, sizes bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Demand {
    /// The thread is to have used so much more CPU time, since it began, than it was to have used before; what is missing is
    /// computed. What other demands and operations took in between is part of it.
    Busy {
        /// CPU time.
        cpu_ns: u64,
        /// What the computation does: an index into [`KERNELS`].
        kernel: u32,
    },
    /// The processes of the replay, or of a rank where there are ranks, hold so much memory together, their own included.
    Resident {
        /// Bytes of resident memory.
        bytes: u64,
    },
    /// So much memory is touched for the first time, and given back.
    Touch {
        /// Bytes in all.
        bytes: u64,
    },
    /// Bytes go to a partner, and others come from it.
    Exchange {
        /// Bytes sent.
        sent: u64,
        /// Bytes received.
        received: u64,
        /// Bytes of one call; 0 where that is not known.
        block: u64,
    },
    /// Bytes go through a connection whose ends are both here.
    Within {
        /// Bytes sent, and received again.
        bytes: u64,
        /// Bytes of one call; 0 where that is not known.
        block: u64,
    },
    /// Blocks are taken from the allocator and given back, one after the other.
    Allocate {
        /// How many.
        count: u64,
        /// Bytes of each.
        bytes: u64,
    },
    /// As `Exchange` and `Within`, by calls that files have too, so that they count as reading and writing.
    Stream {
        /// Bytes sent to a partner.
        sent: u64,
        /// Bytes received from it.
        received: u64,
        /// Bytes sent, and received again.
        within: u64,
        /// Bytes of one call; 0 where that is not known.
        block: u64,
        /// Which calls: 1 sends by write(2), 2 receives by read(2), 3 does both.
        calls: u32,
    },
    /// Time passes until it is so long since the step of this kind before, or since the thread began.
    Last {
        /// Nanoseconds.
        ns: u64,
    },
}

/// What computation does, by the `kernel` of [`Demand::Busy`].
pub const KERNELS: [&str; 5] = ["mixed", "integer", "float", "memory", "matrix"];

/// The numbers of demands in a file.
pub(crate) const NUMBERS: std::ops::RangeInclusive<u8> = 184..=191;

impl Demand {
    /// The name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Demand::Busy { .. } => "busy",
            Demand::Resident { .. } => "resident",
            Demand::Touch { .. } => "touch",
            Demand::Exchange { .. } => "exchange",
            Demand::Within { .. } => "within",
            Demand::Last { .. } => "last",
            Demand::Allocate { .. } => "allocate",
            Demand::Stream { .. } => "stream",
        }
    }

    /// Its number in a file.
    pub const fn number(&self) -> u8 {
        match self {
            Demand::Busy { .. } => 184,
            Demand::Resident { .. } => 185,
            Demand::Touch { .. } => 186,
            Demand::Exchange { .. } => 187,
            Demand::Within { .. } => 188,
            Demand::Last { .. } => 189,
            Demand::Allocate { .. } => 190,
            Demand::Stream { .. } => 191,
        }
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match *self {
            Demand::Busy { cpu_ns, kernel } => {
                put(cpu_ns, out);
                put(kernel, out);
            }
            Demand::Resident { bytes } | Demand::Touch { bytes } | Demand::Last { ns: bytes } => {
                put(bytes, out);
            }
            Demand::Exchange { sent, received, block } => {
                [sent, received, block].into_iter().for_each(|number| put(number, out));
            }
            Demand::Within { bytes, block } => [bytes, block].into_iter().for_each(|number| put(number, out)),
            Demand::Allocate { count, bytes } => {
                [count, bytes].into_iter().for_each(|number| put(number, out));
            }
            Demand::Stream { sent, received, within, block, calls } => {
                [sent, received, within, block].into_iter().for_each(|number| put(number, out));
                put(calls, out);
            }
        }
    }

    /// The demand with this number; `None` when there is none, or the bytes are not its fields.
    pub(crate) fn take(number: u8, bytes: &mut Bytes<'_>) -> Option<Demand> {
        Some(match number {
            184 => Demand::Busy { cpu_ns: take(bytes)?, kernel: take(bytes)? },
            185 => Demand::Resident { bytes: take(bytes)? },
            186 => Demand::Touch { bytes: take(bytes)? },
            187 => Demand::Exchange { sent: take(bytes)?, received: take(bytes)?, block: take(bytes)? },
            188 => Demand::Within { bytes: take(bytes)?, block: take(bytes)? },
            189 => Demand::Last { ns: take(bytes)? },
            190 => Demand::Allocate { count: take(bytes)?, bytes: take(bytes)? },
            191 => Demand::Stream {
                sent: take(bytes)?,
                received: take(bytes)?,
                within: take(bytes)?,
                block: take(bytes)?,
                calls: take(bytes)?,
            },
            _ => return None,
        })
    }
}

impl Display for Demand {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(self.name())?;
        match *self {
            Demand::Busy { cpu_ns, kernel } => {
                let kernel = KERNELS.get(kernel as usize).copied().unwrap_or("unknown");
                write!(out, " cpu_ns={cpu_ns} kernel={kernel}")
            }
            Demand::Resident { bytes } | Demand::Touch { bytes } => write!(out, " bytes={bytes}"),
            Demand::Exchange { sent, received, block } => {
                write!(out, " sent={sent} received={received} block={block}")
            }
            Demand::Within { bytes, block } => write!(out, " bytes={bytes} block={block}"),
            Demand::Last { ns } => write!(out, " ns={ns}"),
            Demand::Allocate { count, bytes } => write!(out, " count={count} bytes={bytes}"),
            Demand::Stream { sent, received, within, block, calls } => {
                write!(out, " sent={sent} received={received} within={within} block={block} calls={calls}")
            }
        }
    }
}
