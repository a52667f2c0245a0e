// The harness's own types, as its sources declare them, and those of index.d.ts are the same but for what this
// package adds.

import type * as native from '../../index.js'
import {
  HARNERY_DURABLE_HISTORY_SCHEMA,
  appendCrashSafeJsonlFile,
  appendDurableHistoryRecord,
  appendDurableHistoryRecords,
  appendSegmentedJsonlFile,
  durableHistoryPaths,
  readCrashSafeJsonlFile,
  readDurableHistorySync,
  readSegmentedJsonlFileSync,
  repairDurableHistory,
  rewriteCrashSafeJsonlFile,
  streamDurableHistory,
  updateCrashSafeJsonlFile,
} from '../../index.js'
import { same } from './same.js'

declare namespace harness {
  interface DurableHistoryOptions {
    max_record_bytes: number
    max_segment_bytes: number
    fault?: (boundary: DurableHistoryFaultBoundary) => void
    write_sync?: DurableHistoryWriteSync
  }
  type DurableHistoryWriteSync = (fd: number, buffer: Buffer, offset: number, length: number) => number
  type DurableHistoryFaultBoundary =
    | 'after_segment_rename'
    | 'before_append'
    | 'after_append_before_sync'
    | 'after_rewrite_temp_sync'
    | 'after_rewrite_publish'
  interface DurableHistoryAppendReceipt {
    schema: 'harnery.durable-history/v1'
    segment: 'active'
    record_bytes: number
    rotated: boolean
    synced: true
  }
  interface DurableHistoryReadOptions {
    max_record_bytes: number
    max_records?: number
  }
  interface CrashSafeJsonlUpdate<R> {
    append?: readonly unknown[]
    result: R
  }
}

same<typeof HARNERY_DURABLE_HISTORY_SCHEMA, 'harnery.durable-history/v1'>(true)
same<Omit<native.DurableHistoryOptions, 'leaseWaitMs'>, Pick<harness.DurableHistoryOptions, keyof harness.DurableHistoryOptions>>(true)
same<native.DurableHistoryWriteSync, harness.DurableHistoryWriteSync>(true)
same<native.DurableHistoryFaultBoundary, harness.DurableHistoryFaultBoundary>(true)
same<native.DurableHistoryAppendReceipt, harness.DurableHistoryAppendReceipt>(true)
same<native.DurableHistoryReadOptions, harness.DurableHistoryReadOptions>(true)
same<native.CrashSafeJsonlUpdate<string>, harness.CrashSafeJsonlUpdate<string>>(true)

// The harness's own signatures take these functions.
interface HarnessHistory {
  appendDurableHistoryRecord(objectDir: string, record: unknown, options: harness.DurableHistoryOptions): harness.DurableHistoryAppendReceipt
  appendCrashSafeJsonlFile(path: string, record: unknown, maxRecordBytes: number, fault?: harness.DurableHistoryOptions['fault']): number
  appendSegmentedJsonlFile(activePath: string, record: unknown, options: harness.DurableHistoryOptions): harness.DurableHistoryAppendReceipt
  updateCrashSafeJsonlFile<T, R>(path: string, options: harness.DurableHistoryReadOptions, update: (records: readonly T[]) => harness.CrashSafeJsonlUpdate<R>, fault?: harness.DurableHistoryOptions['fault']): R
  streamDurableHistory<T>(objectDir: string, options: harness.DurableHistoryReadOptions): AsyncGenerator<T>
  readDurableHistorySync<T>(objectDir: string, options: harness.DurableHistoryReadOptions): T[]
  readCrashSafeJsonlFile<T>(path: string, options: harness.DurableHistoryReadOptions): T[]
  readSegmentedJsonlFileSync<T>(activePath: string, options: harness.DurableHistoryReadOptions): T[]
  rewriteCrashSafeJsonlFile(path: string, records: readonly unknown[], maxRecordBytes: number, fault?: harness.DurableHistoryOptions['fault']): Promise<void>
  durableHistoryPaths(objectDir: string): string[]
}
export const history: HarnessHistory = {
  appendDurableHistoryRecord,
  appendCrashSafeJsonlFile,
  appendSegmentedJsonlFile,
  updateCrashSafeJsonlFile,
  streamDurableHistory,
  readDurableHistorySync,
  readCrashSafeJsonlFile,
  readSegmentedJsonlFileSync,
  rewriteCrashSafeJsonlFile,
  durableHistoryPaths,
}

const limits = { max_record_bytes: 256, max_segment_bytes: 256 }
same<ReturnType<typeof appendDurableHistoryRecords>, native.DurableHistoryBatchReceipt>(true)
same<ReturnType<typeof repairDurableHistory>, native.DurableHistoryRepair | null>(true)
appendDurableHistoryRecord('/h', 1, { ...limits, leaseWaitMs: 5, fault: (boundary) => { same<typeof boundary, native.DurableHistoryFaultBoundary>(true) } })
const numbers: number[] = readDurableHistorySync<number>('/h', limits)
const answer: 'done' = updateCrashSafeJsonlFile('/h', limits, (records: readonly number[]) => ({ append: records, result: 'done' as const }))
export const used = [numbers, answer]
// @ts-expect-error a limit is needed
readDurableHistorySync('/h', {})
// @ts-expect-error a limit is a number
appendCrashSafeJsonlFile('/h', 1, '256')
// @ts-expect-error there is no such boundary
appendDurableHistoryRecord('/h', 1, { ...limits, fault: (boundary: 'elsewhere') => boundary })
