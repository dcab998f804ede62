//! Descriptors that tell of events: eventfd, signalfd, timerfd, inotify.
