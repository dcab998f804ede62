//! One word of each thread.

syn_trace::thread_word!("syn_thread_state");
