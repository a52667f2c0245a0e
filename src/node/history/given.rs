//! What a caller gives: limits, records, functions.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use napi::Result;

use crate::history::{self, Boundary, ReadOptions, Seams, Writing};
use crate::javascript::Thrown;
use crate::node::arguments::{Argument, Members};
use crate::node::call::{thrown_by, Callback};
use crate::node::instance::host;
use crate::node::objects::stringify_json;
use crate::node::servers::sharing;
use crate::node::value::{Js, Scope};

/// An absolute path.
pub(super) fn resolved(path: Argument<'_>) -> Result<PathBuf> {
    let scope = path.scope();
    let path = path.path()?;
    Ok(host(scope)?.resolve(path))
}

/// A record, as `JSON.stringify` writes it.
pub(super) fn json(record: Argument<'_>) -> Result<String> {
    match stringify_json(record.value())? {
        Some(text) => Ok(text),
        None => Err(record.wrong_type("a value that JSON can hold")),
    }
}

pub(super) fn lease_wait(options: &Members<'_>) -> Result<Duration> {
    Ok(options.optional("leaseWaitMs", Argument::milliseconds)?.unwrap_or(Duration::ZERO))
}

/// How to write at a path: with the modes of the project whose `.harnery` it is in, if it is in one.
pub(super) fn writing(scope: Scope<'_>, path: &Path, lease_wait: Duration) -> Result<Writing> {
    let state = path.ancestors().find(|above| above.ends_with(".harnery"));
    Ok(Writing { lease_wait, sharing: sharing(scope, state.and_then(Path::parent))? })
}

/// `DurableHistoryReadOptions`, read but not judged.
pub(super) struct ReadLimits {
    pub(super) max_record_bytes: f64,
    pub(super) max_records: Option<f64>,
}

impl ReadLimits {
    pub(super) fn of(options: &Members<'_>) -> Result<ReadLimits> {
        Ok(ReadLimits {
            max_record_bytes: options.required("max_record_bytes", Argument::number)?,
            max_records: options.optional("max_records", Argument::number)?,
        })
    }

    pub(super) fn check(&self) -> history::Result<ReadOptions> {
        ReadOptions::new(self.max_record_bytes, self.max_records)
    }
}

/// The caller's functions.
pub(super) struct Functions<'env> {
    fault: Option<Callback<'env>>,
    write_sync: Option<Callback<'env>>,
    /// What is being written, as a `Buffer`.
    buffer: Cell<Option<Js<'env>>>,
}

impl<'env> Functions<'env> {
    /// As members of options.
    pub(super) fn of(options: &Members<'env>) -> Result<Self> {
        let fault = options.optional("fault", Argument::function)?;
        let write_sync = options.optional("write_sync", Argument::function)?;
        Ok(Functions { fault, write_sync, buffer: Cell::new(None) })
    }

    /// A plain argument.
    pub(super) fn fault_alone(fault: Js<'env>) -> Result<Self> {
        let fault = Argument::new(fault, "fault").optional().map(Argument::function).transpose()?;
        Ok(Functions { fault, write_sync: None, buffer: Cell::new(None) })
    }

    /// As it was kept.
    pub(super) fn kept(fault: Option<Callback<'env>>) -> Self {
        Functions { fault, write_sync: None, buffer: Cell::new(None) }
    }

    pub(super) fn fault(&self) -> Option<Callback<'env>> {
        self.fault
    }

    fn call_write(
        &self,
        write: Callback<'env>,
        descriptor: i32,
        bytes: &[u8],
        offset: usize,
    ) -> std::result::Result<f64, Thrown> {
        let scope = write.scope();
        let arguments = || -> Result<[Js<'env>; 4]> {
            // One buffer serves all calls for the same bytes, of which the first begins at their start.
            let buffer = match self.buffer.get().filter(|_| offset > 0) {
                Some(buffer) => buffer,
                None => scope.buffer(bytes)?,
            };
            self.buffer.set(Some(buffer));
            let left = (bytes.len() - offset) as f64;
            Ok([scope.number(descriptor.into())?, buffer, scope.number(offset as f64)?, scope.number(left)?])
        };
        let arguments = arguments().map_err(|error| thrown_by(scope, error))?;
        Ok(write.call(&arguments)?.as_number().unwrap_or(f64::NAN))
    }
}

impl Seams for Functions<'_> {
    fn fault(&self, boundary: Boundary) -> std::result::Result<(), Thrown> {
        let Some(fault) = &self.fault else { return Ok(()) };
        let scope = fault.scope();
        let boundary = scope.string(boundary.name()).map_err(|error| thrown_by(scope, error))?;
        fault.call(&[boundary]).map(drop)
    }

    fn write(
        &self,
        descriptor: i32,
        bytes: &[u8],
        offset: usize,
    ) -> Option<std::result::Result<f64, Thrown>> {
        self.write_sync.map(|write| self.call_write(write, descriptor, bytes, offset))
    }
}
