//! Constants, whose literal types stand in `types/servers.d.ts`.

#![expect(unreachable_pub, reason = "napi exports public constants only")]

use napi_derive::napi;

/// The schema version of the records that this contract reads and writes.
#[napi(skip_typescript)]
pub const SERVER_RECORD_SCHEMA_VERSION: u32 = 1;
/// After how many hours without use a server may be stopped.
#[napi(skip_typescript)]
pub const SERVER_DEFAULT_IDLE_HOURS: u32 = 2;
/// After how many hours without a sign of life an agent counts as gone.
#[napi(skip_typescript)]
pub const SERVER_DEFAULT_OWNER_STALE_HOURS: u32 = 24;
