// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../../index.js')

module.exports.checkPidToken = native.checkPidToken
module.exports.processPresence = native.processPresence
module.exports.processStartToken = native.processStartToken
module.exports.procfsStartToken = native.procfsStartToken
module.exports.psStartToken = native.psStartToken
module.exports.resetStartTokenCaches = native.resetStartTokenCaches
module.exports.signalIfSameGeneration = native.signalIfSameGeneration
module.exports.startTokenProbe = native.startTokenProbe
module.exports.tokensAgree = native.tokensAgree
module.exports.verifyProcessGeneration = native.verifyProcessGeneration
