//! Paths that closures of JavaScript hold for a later native call.
//!
//! A path need not be UTF-8, and must come back as it is: it is held as a string of one character for each byte, which
//! nobody but this addon sees.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use napi::Result;

use super::value::{Js, Scope};
use crate::javascript::text::Text;

/// The string to hold.
pub(super) fn held<'env>(scope: Scope<'env>, path: &Path) -> Result<Js<'env>> {
    let text: Text = path.as_os_str().as_bytes().iter().map(|byte| u16::from(*byte)).collect();
    scope.text(&text)
}

/// The path that [`held`] gave; an empty one for what is no string.
pub(super) fn given_back(held: Option<&Js<'_>>) -> PathBuf {
    let text = held.and_then(|held| held.as_text()).unwrap_or_default();
    let bytes: Vec<u8> = text.units().map(|unit| unit as u8).collect();
    PathBuf::from(OsString::from_vec(bytes))
}
