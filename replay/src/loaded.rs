//! The plan as a process of the replay has it.

use crate::storage::Paths;
use anyhow::{Context, ensure};
use syn_plan::{Excerpt, Plan};

/// A plan, or the part of it that one process replays.
#[derive(Debug)]
pub enum Loaded {
    /// All of it, every program replayed by this process or its children.
    All(Plan),
    /// What this process replays; with the whole plan in the root.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "ranks alone have parts"))]
    Part {
        /// The programs of this process, and what they name.
        part: Box<Excerpt>,
        /// The whole plan, in the root.
        whole: Option<Plan>,
        /// Tells the file from another one.
        fingerprint: u32,
    },
}

impl Loaded {
    /// What is replayed here.
    pub fn mine(&self) -> &Plan {
        match self {
            Loaded::All(plan) => plan,
            Loaded::Part { part, .. } => &part.plan,
        }
    }

    /// The whole plan.
    ///
    /// # Errors
    /// In another process than the root.
    pub fn whole(&self) -> anyhow::Result<&Plan> {
        match self {
            Loaded::All(plan) | Loaded::Part { whole: Some(plan), .. } => Ok(plan),
            Loaded::Part { whole: None, .. } => None.context("only the root has read the whole plan"),
        }
    }

    /// The plan file is the same as the root's. `share` tells everyone what the root says.
    ///
    /// # Errors
    /// When it is another one: the ranks would wait for each other in vain.
    pub fn is_the_roots(&self, share: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>) -> anyhow::Result<()> {
        let Loaded::Part { whole, fingerprint, .. } = self else { return Ok(()) };
        let mine = fingerprint.to_le_bytes();
        let roots = share(whole.as_ref().map(|_| mine.to_vec()));
        ensure!(
            roots == mine,
            "the plan is another one on this rank's machine than on rank 0's; copy it there again"
        );
        Ok(())
    }

    /// The paths of what is replayed here. `share` tells everyone what the root says.
    pub fn paths(&self, share: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>) -> Paths {
        match self {
            Loaded::All(plan) => Paths::of(plan),
            Loaded::Part { part, whole, .. } => {
                let facts = share(whole.as_ref().map(|plan| Paths::of(plan).facts()));
                Paths::of_part(&part.plan, &part.files, &facts)
            }
        }
    }
}
