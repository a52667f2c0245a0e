// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.normalizeOpenCodeResult = native.normalizeOpenCodeResult
module.exports.parseOpenCodeStream = native.parseOpenCodeStream
