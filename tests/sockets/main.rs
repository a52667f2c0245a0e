//! Claims about sockets, on real ones: both of the kernel's lists give the same answers, and every owner is found.
//!
//! Both lists are Linux's.

#![cfg(target_os = "linux")]

mod connections;
mod listeners;
mod lsof;
mod owners;
mod stage;
