// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../index.js')

module.exports.serverGcConfig = native.serverGcConfig
module.exports.serverPortRange = native.serverPortRange
