//! Locks, conditions, semaphores and barriers.
