// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.HARNERY_DURABLE_HISTORY_SCHEMA = native.HARNERY_DURABLE_HISTORY_SCHEMA
module.exports.appendCrashSafeJsonlFile = native.appendCrashSafeJsonlFile
module.exports.appendDurableHistoryRecord = native.appendDurableHistoryRecord
module.exports.appendSegmentedJsonlFile = native.appendSegmentedJsonlFile
module.exports.durableHistoryPaths = native.durableHistoryPaths
module.exports.readCrashSafeJsonlFile = native.readCrashSafeJsonlFile
module.exports.readDurableHistorySync = native.readDurableHistorySync
module.exports.readSegmentedJsonlFileSync = native.readSegmentedJsonlFileSync
module.exports.rewriteCrashSafeJsonlFile = native.rewriteCrashSafeJsonlFile
module.exports.streamDurableHistory = native.streamDurableHistory
module.exports.updateCrashSafeJsonlFile = native.updateCrashSafeJsonlFile
