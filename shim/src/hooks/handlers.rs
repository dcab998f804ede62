//! Signal handlers: the program's own, behind one of ours that records the arrival.
