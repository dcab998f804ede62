//! From recorded runs to a plan: align, match, connect, reduce, lower
