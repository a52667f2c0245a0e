// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.canonicalJson = native.canonicalJson
module.exports.stableDigest = native.stableDigest
