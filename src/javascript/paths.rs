//! Node's `path` functions on POSIX: lexical, no symbolic links followed.
//! To be filled: resolve, join, basename, relative, dirname.
