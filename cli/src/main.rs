//! The front end: record, merge, replay, info, dump

fn main() {}
