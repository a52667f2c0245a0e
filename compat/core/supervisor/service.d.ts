// Generated from compat/layout.json; do not edit.

export { readSupervisorStatus, requestSupervisorStop, supervisorPaths } from '../../../index.js'
export type { SupervisorProcessDependencies, SupervisorStatus, SupervisorStopResult } from '../../../index.js'
