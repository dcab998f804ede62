//! Several runs of one application: who is who, which events correspond, in which runs a dependency holds, and how long
//! computation usually takes.

pub mod align;
pub mod dependencies;
pub mod durations;
pub mod outline;
pub mod roles;
