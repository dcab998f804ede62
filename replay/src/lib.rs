//! Closed-model replay of a plan below a storage root
