//! Durable history: append-only JSON lines, one writer at a time.

mod constants;
mod given;
mod records;
mod rewriting;
mod streaming;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use self::given::{json, lease_wait, resolved, writing, Functions, ReadLimits};
use super::arguments::Argument;
use super::errors::raise;
use super::instance::host;
use super::objects::{value_to_js, Factory};
use super::value::{Js, Scope};
use super::waits::promise;
use crate::history::lease::torn;
use crate::history::read::Reader;
use crate::history::repair::layouts_of;
use crate::history::{self, append, repair, AppendOptions, Error, Layout, Writing};
use crate::javascript::json::{Object, Value};
use crate::javascript::paths;
use crate::lease::repair::Request;

/// Append a record to the history in a directory, which is created when it is missing. The active file is sealed into
/// `segments/` first when it would grow past `max_segment_bytes`. When it returns, the record is synced.
///
/// A failure before the sync leaves the file as long as it was. Throws errors with a stable `code`: `HISTORY_INPUT`,
/// `HISTORY_RECORD_TOO_LARGE` (before anything is made), `HISTORY_BUSY` (another writer, for longer than `leaseWaitMs`),
/// `HISTORY_PARTIAL` (a killed writer tore the last line: see {@link repairDurableHistory}), `HISTORY_SYMLINK`,
/// `HISTORY_NOT_A_DIRECTORY`, `HISTORY_NOT_A_FILE`, `HISTORY_CHANGED`, `HISTORY_LOST`, `HISTORY_INVALID`,
/// `HISTORY_NO_SEGMENT_LEFT`, `HISTORY_NO_PROGRESS`, or the failed system call's, such as `ENOSPC`. What `fault` or
/// `write_sync` throws leaves the call unchanged.
#[napi(
    catch_unwind,
    ts_args_type = "objectDir: string, record: unknown, options: DurableHistoryOptions",
    ts_return_type = "DurableHistoryAppendReceipt"
)]
pub(crate) fn append_durable_history_record<'env>(
    env: &'env Env,
    object_dir: Js<'env>,
    record: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let layout = Layout::directory(&resolved(Argument::new(object_dir, "objectDir"))?);
    append_one(scope, &layout, record, options)
}

/// {@link appendDurableHistoryRecord} for several records, under one lease and with one sync: all of them are
/// acknowledged or none. They are sealed as single appends would seal them.
#[napi(
    catch_unwind,
    ts_args_type = "objectDir: string, records: readonly unknown[], options: DurableHistoryOptions",
    ts_return_type = "DurableHistoryBatchReceipt"
)]
pub(crate) fn append_durable_history_records<'env>(
    env: &'env Env,
    object_dir: Js<'env>,
    records: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    const RECEIPT: Factory = Factory(
        "(schema, record_bytes, rotated, records) =>
            ({ schema, segment: 'active', record_bytes, rotated, synced: true, records })",
    );
    let scope = Scope::from(env);
    let layout = Layout::directory(&resolved(Argument::new(object_dir, "objectDir"))?);
    let (limits, writing, functions) = append_options(&layout, options)?;
    let records = Argument::new(records, "records").array(json)?;
    let appended = append::append(&host(scope)?, &layout, &records, limits, writing, &functions);
    let receipt = done(scope, appended)?;
    RECEIPT.call(
        scope,
        &[
            scope.string(history::SCHEMA)?,
            scope.number(receipt.record_bytes as f64)?,
            scope.boolean(receipt.rotated)?,
            scope.number(receipt.records as f64)?,
        ],
    )
}

/// {@link appendDurableHistoryRecord} to a file that keeps its name; its segments are in `<path>.segments/`.
#[napi(
    catch_unwind,
    ts_args_type = "activePath: string, record: unknown, options: DurableHistoryOptions",
    ts_return_type = "DurableHistoryAppendReceipt"
)]
pub(crate) fn append_segmented_jsonl_file<'env>(
    env: &'env Env,
    active_path: Js<'env>,
    record: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let path = resolved(Argument::new(active_path, "activePath"))?;
    append_one(scope, &done(scope, Layout::segmented(&path))?, record, options)
}

/// Append a record to a single file and sync it; the bytes that the record took, its line feed included. Throws as
/// {@link appendDurableHistoryRecord} does.
#[napi(
    catch_unwind,
    ts_args_type = "path: string, record: unknown, maxRecordBytes: number, fault?: DurableHistoryOptions['fault'], options?: DurableHistoryWriteOptions",
    ts_return_type = "number"
)]
pub(crate) fn append_crash_safe_jsonl_file<'env>(
    env: &'env Env,
    path: Js<'env>,
    record: Js<'env>,
    max_record_bytes: Js<'env>,
    fault: Js<'env>,
    options: Js<'env>,
) -> Result<f64> {
    let scope = Scope::from(env);
    let path = resolved(Argument::new(path, "path"))?;
    let limit = Argument::new(max_record_bytes, "maxRecordBytes").number()?;
    let functions = Functions::fault_alone(fault)?;
    let wait = lease_wait(&Argument::new(options, "options").options()?)?;
    let record = json(Argument::new(record, "record"))?;
    let writing = writing(scope, &path, wait)?;
    let appended = append::append_to_file(&host(scope)?, &path, &record, limit, writing, &functions);
    Ok(done(scope, appended)? as f64)
}

/// Read all records of a single file, let `update` decide what to append, append it, and return `result`; all under
/// one lease. Throws as {@link appendDurableHistoryRecord} and {@link readCrashSafeJsonlFile} do; what `update` throws
/// leaves the call unchanged, and nothing is appended. An `update` that returns a promise is a `TypeError`, likewise.
#[napi(
    catch_unwind,
    ts_generic_types = "T, R",
    ts_args_type = "path: string, options: DurableHistoryReadOptions & DurableHistoryWriteOptions, update: (records: readonly T[]) => CrashSafeJsonlUpdate<R>, fault?: DurableHistoryOptions['fault']",
    ts_return_type = "R"
)]
pub(crate) fn update_crash_safe_jsonl_file<'env>(
    env: &'env Env,
    path: Js<'env>,
    options: Js<'env>,
    update: Js<'env>,
    fault: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let path = resolved(Argument::new(path, "path"))?;
    let members = Argument::new(options, "options").object()?;
    let limits = ReadLimits::of(&members)?;
    let wait = lease_wait(&members)?;
    let update = Argument::new(update, "update").function()?;
    let functions = Functions::fault_alone(fault)?;
    let limits = done(scope, limits.check())?;
    let (host, writing) = (host(scope)?, writing(scope, &path, wait)?);
    let decide = |reader: &mut Reader| records::decide(scope, &host, reader, update);
    done(scope, history::update::update(&host, &path, limits, writing, &functions, decide))
}

/// All records of the history in a directory, oldest first; none when there is no such directory.
///
/// Throws errors with a stable `code`: `HISTORY_PARTIAL` when the last line is not whole, `HISTORY_RECORD_TOO_LARGE`,
/// `HISTORY_TOO_MANY_RECORDS`, `HISTORY_INVALID` for a line that is no JSON, `HISTORY_SYMLINK`, `HISTORY_NOT_A_DIRECTORY`,
/// `HISTORY_NOT_A_FILE`, `HISTORY_CHANGED`.
#[napi(
    catch_unwind,
    ts_generic_types = "T",
    ts_args_type = "objectDir: string, options: DurableHistoryReadOptions",
    ts_return_type = "T[]"
)]
pub(crate) fn read_durable_history_sync<'env>(
    env: &'env Env,
    object_dir: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    let layout = Layout::directory(&resolved(Argument::new(object_dir, "objectDir"))?);
    records::read_all(Scope::from(env), layout, options)
}

/// {@link readDurableHistorySync} for a file with `<path>.segments/`.
#[napi(
    catch_unwind,
    ts_generic_types = "T",
    ts_args_type = "activePath: string, options: DurableHistoryReadOptions",
    ts_return_type = "T[]"
)]
pub(crate) fn read_segmented_jsonl_file_sync<'env>(
    env: &'env Env,
    active_path: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let path = resolved(Argument::new(active_path, "activePath"))?;
    records::read_all(scope, done(scope, Layout::segmented(&path))?, options)
}

/// {@link readDurableHistorySync} for a single file.
#[napi(
    catch_unwind,
    ts_generic_types = "T",
    ts_args_type = "path: string, options: DurableHistoryReadOptions",
    ts_return_type = "T[]"
)]
pub(crate) fn read_crash_safe_jsonl_file<'env>(
    env: &'env Env,
    path: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let path = resolved(Argument::new(path, "path"))?;
    records::read_all(scope, done(scope, Layout::file(&path))?, options)
}

/// The records of the history in a directory, oldest first, in bounded memory: one record and one block of 64 KiB.
///
/// Everything that was acknowledged when the first record was asked for comes, also when a segment is sealed
/// meanwhile. The event loop turns between the blocks. Its file is open until the last record, `return()` or a failure; of
/// an iterator that nobody goes on with, until it is garbage. Throws as {@link readDurableHistorySync} does.
#[napi(
    catch_unwind,
    ts_generic_types = "T",
    ts_args_type = "objectDir: string, options: DurableHistoryReadOptions",
    ts_return_type = "AsyncGenerator<T, void, undefined>"
)]
pub(crate) fn stream_durable_history<'env>(
    env: &'env Env,
    object_dir: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    streaming::stream(Scope::from(env), object_dir, options)
}

/// Replace a single file's records as a whole: readers see the old file or the new one. Rejects as
/// {@link appendDurableHistoryRecord} throws.
#[napi(
    catch_unwind,
    ts_args_type = "path: string, records: readonly unknown[], maxRecordBytes: number, fault?: DurableHistoryOptions['fault'], options?: DurableHistoryWriteOptions",
    ts_return_type = "Promise<void>"
)]
pub(crate) fn rewrite_crash_safe_jsonl_file<'env>(
    env: &'env Env,
    path: Js<'env>,
    records: Js<'env>,
    max_record_bytes: Js<'env>,
    fault: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    promise(scope, || Ok((rewriting::begin(scope, [path, records, max_record_bytes, fault, options])?, None)))
}

/// The files of the history in a directory, oldest first: its segments, then `active.jsonl`.
///
/// Throws `HISTORY_SYMLINK`, `HISTORY_NOT_A_DIRECTORY`, `HISTORY_NOT_A_FILE`.
#[napi(catch_unwind, ts_args_type = "objectDir: string", ts_return_type = "string[]")]
pub(crate) fn durable_history_paths<'env>(env: &'env Env, object_dir: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let given = Argument::new(object_dir, "objectDir").path()?;
    let host = host(scope)?;
    let dir = host.resolve(&given);
    let files = done(scope, history::read::paths(&host, &Layout::directory(&dir)))?;
    scope.array(files.iter().map(|file| {
        let inside = file.strip_prefix(&dir).unwrap_or(file).to_string_lossy();
        scope.string(&paths::join(&given, inside.as_ref()).to_string_lossy())
    }))
}

/// Repair the first thing that keeps a history from going on; `null` when nothing does. `path` is the history's
/// directory, or its file.
///
/// A torn last line is moved into `<file>.torn-<time>`, under the history's lease. With `lease`, a lease that
/// {@link inspectDurableHistoryLease} calls torn is moved into `<lease>.torn-<time>/` with a note of who and why: only while
/// `digest` is the one of a look at it, and when it has been left alone for 30 seconds. With `confirm: "elsewhere"` that
/// goes for one that it calls elsewhere, too: a container's that is gone for good. Nothing is deleted.
///
/// Throws as {@link appendDurableHistoryRecord} does; `HISTORY_REPAIR` when the lease may not be moved.
#[napi(
    catch_unwind,
    ts_args_type = "path: string, options?: DurableHistoryRepairOptions",
    ts_return_type = "DurableHistoryRepair | null"
)]
pub(crate) fn repair_durable_history<'env>(
    env: &'env Env,
    path: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    const REPAIRED: Factory =
        Factory("(file, bytes_removed, quarantined_to) => ({ file, bytes_removed, quarantined_to })");
    let scope = Scope::from(env);
    let path = resolved(Argument::new(path, "path"))?;
    let options = Argument::new(options, "options").options()?;
    let wait = lease_wait(&options)?;
    let lease = options.optional("lease", |lease| {
        let lease = lease.object()?;
        Ok(Request {
            digest: lease.required("digest", Argument::string)?,
            actor: lease.required("actor", Argument::string)?,
            reason: lease.required("reason", Argument::string)?,
            elsewhere_is_gone: lease.optional("confirm", |word| word.word(&[("elsewhere", ())]))?.is_some(),
        })
    })?;
    let writing = writing(scope, &path, wait)?;
    let repaired = done(scope, repair::repair(&host(scope)?, &path, writing, lease.as_ref()))?;
    let Some(repaired) = repaired else { return scope.null() };
    let file = scope.string(&repaired.file.to_string_lossy())?;
    let bytes = scope.number(repaired.bytes_removed as f64)?;
    REPAIRED.call(scope, &[file, bytes, scope.string(&repaired.quarantined_to.to_string_lossy())?])
}

/// The leases of a history: of a directory one, of a file the two that it may be written under. `state` is `free`, `held`,
/// `stale` (the next writer takes it over), `elsewhere` (its owner is 30 seconds old and, if it lives, in another pid
/// namespace) or `torn`: what an older harness leaves that was killed while it made a lease. The last two are busy for
/// everyone until {@link repairDurableHistory} moves them. Nothing is changed.
#[napi(catch_unwind, ts_args_type = "path: string", ts_return_type = "DurableHistoryLease[]")]
pub(crate) fn inspect_durable_history_lease<'env>(env: &'env Env, path: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let path = resolved(Argument::new(path, "path"))?;
    let host = host(scope)?;
    let leases = layouts_of(&host, &path).and_then(|layouts| {
        layouts.iter().map(|layout| torn::inspect(&host, layout)).collect::<history::Result<_>>()
    });
    let leases: Vec<torn::Inspection> = done(scope, leases)?;
    let shown = leases.into_iter().map(|lease| {
        Value::Object(
            Object::new()
                .with("path", Some(lease.path.to_string_lossy().into_owned()))
                .with("state", Some(lease.state.name()))
                .with("digest", Some(lease.digest)),
        )
    });
    value_to_js(scope, &Value::Array(shown.collect()))
}

fn append_one<'env>(
    scope: Scope<'env>,
    layout: &Layout,
    record: Js<'env>,
    options: Js<'env>,
) -> Result<Js<'env>> {
    const RECEIPT: Factory = Factory(
        "(schema, record_bytes, rotated) =>
            ({ schema, segment: 'active', record_bytes, rotated, synced: true })",
    );
    let (limits, writing, functions) = append_options(layout, options)?;
    let record = json(Argument::new(record, "record"))?;
    let appended = append::append(&host(scope)?, layout, &[record], limits, writing, &functions);
    let receipt = done(scope, appended)?;
    let schema = scope.string(history::SCHEMA)?;
    RECEIPT
        .call(scope, &[schema, scope.number(receipt.record_bytes as f64)?, scope.boolean(receipt.rotated)?])
}

/// `DurableHistoryOptions`
fn append_options<'env>(
    layout: &Layout,
    options: Js<'env>,
) -> Result<(AppendOptions, Writing, Functions<'env>)> {
    let scope = options.scope();
    let members = Argument::new(options, "options").object()?;
    let max_record_bytes = members.required("max_record_bytes", Argument::number)?;
    let max_segment_bytes = members.required("max_segment_bytes", Argument::number)?;
    let functions = Functions::of(&members)?;
    let wait = lease_wait(&members)?;
    let limits = done(scope, AppendOptions::new(max_record_bytes, max_segment_bytes))?;
    Ok((limits, writing(scope, &layout.active_path(), wait)?, functions))
}

/// What the core gave, or its failure as an exception.
fn done<T>(scope: Scope<'_>, outcome: std::result::Result<T, Error>) -> Result<T> {
    outcome.map_err(|error| raise(scope, error))
}
