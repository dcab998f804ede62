//! MPI as an application sees it: implementations, handles, statuses, entry points
