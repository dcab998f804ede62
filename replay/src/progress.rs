//! Progress on the terminal; silent where stderr is none. No bar has a thread of its own: the replay forks.

use indicatif::{ProgressBar, ProgressStyle};
use syn_plan::{Initial, Plan};

/// What is shown while files are prepared and while the plan is replayed.
pub struct Progress {
    bar: ProgressBar,
    repeats: u32,
}

impl Progress {
    /// For `repeats` replays; nothing is shown unless `visible`.
    pub fn new(repeats: u32, visible: bool) -> Progress {
        let bar = if visible { ProgressBar::new(0) } else { ProgressBar::hidden() };
        Progress { bar, repeats }
    }

    /// A bar for the bytes of the files to prepare.
    pub fn preparing(&self, plan: &Plan) -> ProgressBar {
        let bytes = plan.files.iter().map(|file| match file.initial {
            Initial::Regular { bytes } => bytes,
            Initial::Absent | Initial::Directory => 0,
        });
        self.show("preparing files {bar:40} {bytes}/{total_bytes} {eta}", bytes.sum());
        self.bar.clone()
    }

    /// Shows which replay is under way.
    pub fn replaying(&self, number: u32) {
        self.show("replaying {pos} of {len} {bar:40}", self.repeats.into());
        self.bar.set_position(number.into());
        self.bar.tick();
    }

    /// Takes the bar away.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self, template: &str, length: u64) {
        // The templates are constant; a wrong one would show the usual bar.
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.reset();
        self.bar.set_length(length);
    }
}
