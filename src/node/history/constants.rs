//! Constants, whose literal types stand in `types/history.d.ts`.

#![expect(unreachable_pub, reason = "napi exports public constants only")]

use napi_derive::napi;

/// The schema that a receipt names.
#[napi(skip_typescript)]
pub const HARNERY_DURABLE_HISTORY_SCHEMA: &str = crate::history::SCHEMA;
