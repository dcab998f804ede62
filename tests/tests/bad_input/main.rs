//! Bad runs, bad plans, bad storage: a message that names the thing and says what is wrong with it, the exit code of the
//! contract (0 done, 1 failed, 2 wrong usage, 3 done but the result needs a look), and nothing written anywhere else.

mod plans;
mod runs;

use std::path::Path;
use tests::Job;

/// The job ends with this code and a message that holds these words.
#[track_caller]
fn says(job: Job, code: i32, words: &[&str]) {
    let outcome = job.run_in(Path::new("/"));
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}
