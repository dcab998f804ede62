//! Copies inside the kernel: copy_file_range, sendfile, splice.
