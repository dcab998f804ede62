//! A trace file of any content: whole as it comes, or as what follows heads and a header that are in order. Everything that a
//! reader does with it is done: events, process images, descriptors.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Write;
use syn_trace::{Event, Run};
use syn_trace::builder::TraceBuilder;
use syn_trace::descriptors::Descriptors;
use syn_trace::chunks::{IN_FRONT, UNIT_BYTES};

fuzz_target!(|data: &[u8]| {
    let Some((&how, data)) = data.split_first() else { return };
    let mut file = tempfile::Builder::new().suffix(".trace").tempfile().expect("a temporary file");
    if how & 1 == 0 {
        let front = &TraceBuilder::new(7, 7).bytes()[..UNIT_BYTES + IN_FRONT[0]];
        file.write_all(front).expect("room for a small file");
    }
    file.write_all(data).expect("room for a small file");
    let Ok(run) = Run::open_file(file.path()) else { return };
    let mut descriptors = Descriptors::new("/", run.threads.len());
    for (thread, event) in run.process_events(0) {
        let times = (run.threads[thread].start_ns(&event), run.threads[thread].end_ns(&event));
        let touched = descriptors.apply(&event, times.0, run.threads[thread].returned_ns(&event));
        if let Some(file) = touched.file {
            let _ = descriptors.open_file(file).offset;
        }
        assert!(times.0 <= times.1 && event.list.iter().count() <= event.list.len());
        let bytes: usize = event.texts.iter().map(|text| text.bytes().len()).sum();
        assert!(bytes <= 4 * data.len());
    }
    for thread in &run.threads {
        let event = |event: Event<'_>| format!("{event:?}");
        let measured = thread.measured().map(|(one, _)| event(one));
        assert!(thread.events().map(event).eq(measured), "what is measured is what is on record");
    }
});
