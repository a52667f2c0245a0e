// Generated from compat/layout.json; do not edit.

export { beginWorkflowRecovery } from '../../../index.js'
export type { WorkflowRecoveryAuthorization } from '../../../index.js'
