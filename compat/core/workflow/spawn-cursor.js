// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.normalizeCursorResult = native.normalizeCursorResult
module.exports.parseCursorOutput = native.parseCursorOutput
