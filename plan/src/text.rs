//! Steps as text, one line each: the form in `syn dump` and in messages. Files, handles, edges and names of extended
//! attributes appear by number (`f3`, `h0`, `e7`, `a1`), so that a line can be read without the rest of the plan.

use crate::{Initial, Op, Rule, Step};
use std::fmt::{Display, Formatter, Result};

impl Display for Rule {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(self.name())
    }
}

impl Display for Initial {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Initial::Absent => out.write_str("absent"),
            Initial::Regular { bytes } => write!(out, "regular bytes={bytes}"),
            Initial::Directory => out.write_str("directory"),
        }
    }
}

impl Display for Step {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{} +{} {}", self.start_ns, self.took_ns, self.op)
    }
}

impl Display for Op {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Op::Compute { cpu_ns, idle_ns } => write!(out, "compute cpu_ns={cpu_ns} idle_ns={idle_ns}"),
            Op::Sleep { ns } => write!(out, "sleep ns={ns}"),
            Op::TimedWait { edge, count, ns } => write!(out, "timed-wait e{edge} count={count} ns={ns}"),
            Op::Signal { edge } => write!(out, "signal e{edge}"),
            Op::Wait { edge, count, stride: 0 } => write!(out, "wait e{edge} count={count}"),
            Op::Wait { edge, count, stride } => write!(out, "wait e{edge} count={count} stride={stride}"),
            Op::Io { call, result } => write!(out, "{call} = {result}"),
            Op::Demand(demand) => demand.fmt(out),
            Op::Mpi { call, cpu_ns, idle_ns } => write!(out, "{call} cpu_ns={cpu_ns} idle_ns={idle_ns}"),
            Op::Repeat { count, steps } => write!(out, "repeat count={count} steps={steps}"),
        }
    }
}
