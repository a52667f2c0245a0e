// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.isUpstreamFailureText = native.isUpstreamFailureText
module.exports.vendorFailureText = native.vendorFailureText
