//! Busy threads beside a recording.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use tests::{Job, program};

/// A program of this test's that takes the processors; it ends with this value.
pub struct Load(Child);

impl Load {
    /// When this returns all the threads run.
    ///
    /// # Panics
    /// When the program cannot be started.
    pub fn start(threads: usize) -> Load {
        let job = Job::new(program("time/load")).arg(threads.to_string());
        let mut child = job.command_in(Path::new("/")).stdout(Stdio::piped()).spawn().expect("the load");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let load = Load(child);
        BufReader::new(stdout).read_line(&mut line).expect("a line of the load");
        assert_eq!(line, "running\n");
        load
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
