// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../../index.js').custody

module.exports.createTunnelReadinessVerifier = native.createTunnelReadinessVerifier
module.exports.tunnelServerId = native.tunnelServerId
module.exports.tunnelServerInput = native.tunnelServerInput
