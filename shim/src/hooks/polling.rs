//! Waiting for descriptors: poll, select, epoll.
