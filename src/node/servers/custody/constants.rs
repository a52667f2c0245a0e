//! Constants, whose literal types stand in `types/custody.d.ts`.

#![expect(unreachable_pub, reason = "napi exports public constants only")]

use napi_derive::napi;

/// The schema version of the records that this contract reads and writes.
#[napi(namespace = "custody", skip_typescript)]
pub const SERVER_RECORD_SCHEMA_VERSION: u32 = 2;
