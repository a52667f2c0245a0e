// Generated from compat/layout.json; do not edit.

export { acquireWorkflowResumeLease, recoverWorkflowResumeLease, workflowRunManifestPath } from '../../../index.js'
export type { WorkflowResumeRecoveryOptions, WorkflowResumeRecoveryResult } from '../../../index.js'
