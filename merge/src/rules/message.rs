//! A receive completes after its send was started, and so does a probe that saw the message.

use crate::graph::dependency::Dependencies;
use crate::mpi::{Receive, Send};
use syn_plan::Rule;

/// `receive` got what `send` sent.
pub fn connect(send: Send, receive: &Receive, found: &mut Dependencies) {
    for &probe in &receive.probes {
        found.add_one(Rule::Message, send.enter, probe);
    }
    if let Some(completed) = receive.completed {
        found.add_one(Rule::Message, send.enter, completed);
    }
}
