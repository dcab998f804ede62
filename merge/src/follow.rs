//! What the processes of a run do, event by event in the order of time: who made whom, and who did what to which file.

pub mod channel_tracker;
pub mod connections;
pub mod datagrams;
pub mod file_ids;
pub mod file_tracker;
pub mod interruptions;
pub mod ipc_tracker;
pub mod lock_tracker;
pub mod node_local;
pub mod pass;
pub mod process_tree;
pub mod request_tracker;
pub mod ring_tracker;
pub mod row;
pub mod scope;
pub mod shared;
pub mod shared_memory;
pub mod signal_tracker;
pub mod sleep_loops;
pub mod socket_names;
pub mod source;
pub mod terminal_tracker;
pub mod timed_waits;
pub mod timer_tracker;
pub mod touched_pages;
pub mod wait_tracker;
