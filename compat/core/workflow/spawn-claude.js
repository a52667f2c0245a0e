// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.normalizeClaudeResult = native.normalizeClaudeResult
