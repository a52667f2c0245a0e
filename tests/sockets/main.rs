//! Claims about sockets, on real ones: both of the kernel's lists give the same answers, and every owner is found.

mod connections;
mod listeners;
mod lsof;
mod owners;
mod stage;
