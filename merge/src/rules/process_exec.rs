//! A call that has lent its memory to the process that it made returns when that has become another program, or has ended: vfork(2),
//! and posix_spawn(3) of the GNU C library.
//!
//! What the new process does before is on record only where it was recorded from outside. Otherwise all that is known is that it was
//! another program when its first record was written. Who went on later than that was ready, and had no processor.

use super::process_create::Creator;
use crate::follow::process_tree::{Image, ProcessTree};
use crate::graph::dependency::{Dependencies, Moment, Point, Stage};
use std::collections::HashMap;
use syn_plan::Rule;

/// Given the creator of every image, in the order in which they began.
pub fn connect(process_tree: &ProcessTree, creators: &[Option<Creator>], found: &mut Dependencies) {
    let awaiting = process_tree.creations.iter().filter_map(|creation| {
        let leave = creation.awaited_exec.filter(|_| !process_tree.is_launcher(creation.process))?;
        Some((creation.enter.point(), leave))
    });
    let mut awaiting: HashMap<Point, Moment> = awaiting.collect();
    if awaiting.is_empty() {
        return;
    }
    for (process, creator) in (0u32..).zip(creators) {
        let Some(leave) = creator.and_then(|(_, enter)| awaiting.remove(&enter.point())) else { continue };
        let Some(image) = &process_tree.images[process as usize] else { continue };
        if !process_tree.is_launcher(process) {
            let from_outside = process_tree.is_from_outside(image.first.point().thread);
            found.add_one(Rule::ProcessExec, let_go(image, from_outside, leave), leave);
        }
    }
}

/// When the first image on record of a process let its creator go on, which did at `leave`.
fn let_go(image: &Image, from_outside: bool, leave: Moment) -> Moment {
    let ends = [image.exec, Some(image.last)].into_iter().flatten();
    let recorded = ends.filter(|_| from_outside).find(|end| end.ns <= leave.ns);
    recorded.unwrap_or_else(|| {
        let first = Point { stage: Stage::Enter, ..image.first.point() };
        Moment::new(first, image.first.ns.min(leave.ns))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(thread: u32, record: u32, ns: u64) -> Moment {
        Moment::new(Point { thread, record, stage: Stage::Around }, ns)
    }

    #[test]
    fn who_lent_its_memory_goes_on_after_what_is_known_to_come_first() {
        let image = |exec: Option<u64>, last| Image {
            first: moment(1, 0, 100),
            last: moment(1, 9, last),
            children_ns: 0,
            exec: exec.map(|ns| moment(1, 5, ns)),
            parent_before: None,
        };
        // Recorded from outside: from execve on, or from its end on.
        assert_eq!(let_go(&image(Some(140), 140), true, moment(0, 3, 150)), moment(1, 5, 140));
        assert_eq!(let_go(&image(None, 145), true, moment(0, 3, 150)), moment(1, 9, 145));
        // From inside: another program by the first record, or when it is known to have let go.
        let at_start = |ns| Moment::new(Point { thread: 1, record: 0, stage: Stage::Enter }, ns);
        assert_eq!(let_go(&image(None, 145), false, moment(0, 3, 150)), at_start(100));
        assert_eq!(let_go(&image(Some(800), 800), false, moment(0, 3, 60)), at_start(60));
    }
}
