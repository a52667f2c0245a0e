// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.readSupervisorStatus = native.readSupervisorStatus
module.exports.requestSupervisorStop = native.requestSupervisorStop
module.exports.supervisorPaths = native.supervisorPaths
