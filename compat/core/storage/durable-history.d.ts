// Generated from compat/layout.json; do not edit.

export { HARNERY_DURABLE_HISTORY_SCHEMA, appendCrashSafeJsonlFile, appendDurableHistoryRecord, appendSegmentedJsonlFile, durableHistoryPaths, readCrashSafeJsonlFile, readDurableHistorySync, readSegmentedJsonlFileSync, rewriteCrashSafeJsonlFile, streamDurableHistory, updateCrashSafeJsonlFile } from '../../../index.js'
