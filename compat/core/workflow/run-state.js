// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.acquireWorkflowResumeLease = native.acquireWorkflowResumeLease
module.exports.recoverWorkflowResumeLease = native.recoverWorkflowResumeLease
module.exports.workflowRunManifestPath = native.workflowRunManifestPath
