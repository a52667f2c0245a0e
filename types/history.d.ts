/** The schema that a receipt names. */
export declare const HARNERY_DURABLE_HISTORY_SCHEMA: 'harnery.durable-history/v1'

/** A moment in an operation at which `fault` is called. */
export type DurableHistoryFaultBoundary =
  | 'after_segment_rename'
  | 'before_append'
  | 'after_append_before_sync'
  | 'after_rewrite_temp_sync'
  | 'after_rewrite_publish'

/** Writes `length` bytes of `buffer` from `offset` on to the end of the file `fd`; returns how many were written. */
export type DurableHistoryWriteSync = (fd: number, buffer: Buffer, offset: number, length: number) => number

/** How a writer waits for others. */
export interface DurableHistoryWriteOptions {
  /** Milliseconds to wait while another writer is at work; not at all when left out. Synchronous calls block. */
  leaseWaitMs?: number
}

/** Limits of an append to a history in segments, and seams for fault injection. */
export interface DurableHistoryOptions extends DurableHistoryWriteOptions {
  /** The longest line in bytes, its line feed included. */
  max_record_bytes: number
  /** At least `max_record_bytes`. The active file is sealed when the next line would make it longer. */
  max_segment_bytes: number
  /** Called at each boundary. A throw leaves what is on disk as it is and the call with the very same value. */
  fault?: (boundary: DurableHistoryFaultBoundary) => void
  /** Replaces the write. */
  write_sync?: DurableHistoryWriteSync
}

/** The record is in the history and synced. */
export interface DurableHistoryAppendReceipt {
  schema: typeof HARNERY_DURABLE_HISTORY_SCHEMA
  segment: 'active'
  /** Line feed included. */
  record_bytes: number
  /** Whether the active file was sealed before. */
  rotated: boolean
  synced: true
}

/** All records are in the history and synced; `record_bytes` is of all of them together. */
export interface DurableHistoryBatchReceipt extends DurableHistoryAppendReceipt {
  records: number
}

/** Limits of a read. */
export interface DurableHistoryReadOptions {
  /** The longest line in bytes, its line feed included. */
  max_record_bytes: number
  max_records?: number
}

/** What an update decided on. */
export interface CrashSafeJsonlUpdate<R> {
  append?: readonly unknown[]
  result: R
}

export interface DurableHistoryRepairOptions extends DurableHistoryWriteOptions {
  /**
   * Move a torn lease aside: which one, who does it, and why. With `confirm`, also one whose owner is in another pid
   * namespace and known to be gone for good.
   */
  lease?: { digest: string; actor: string; reason: string; confirm?: 'elsewhere' }
}

/** What a repair moved where. */
export interface DurableHistoryRepair {
  /** The file that had a torn last line, or the torn lease. */
  file: string
  bytes_removed: number
  quarantined_to: string
}

/** A lease of a history, as it was looked at. */
export interface DurableHistoryLease {
  path: string
  state: 'free' | 'held' | 'stale' | 'elsewhere' | 'torn'
  /** By what a repair recognises it. */
  digest: string
}
