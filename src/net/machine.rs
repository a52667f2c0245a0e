//! The operating system's sockets: which source answers on which system.
//!
//! | system | source |
//! | --- | --- |
//! | Linux | the kernel: socket diagnostics, else its text files; never a program |
//! | macOS | `lsof` |
//! | other | none: every list is empty, and the support says so |

#[cfg(target_os = "linux")]
pub use super::kernel::Kernel as Machine;
#[cfg(target_os = "macos")]
pub use super::lsof::Lsof as Machine;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use super::nowhere::Nowhere as Machine;
