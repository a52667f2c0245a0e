// Generated from compat/layout.json; do not edit.

export { tunnelServerId, tunnelServerInput } from '../../../index.js'
export type { TunnelState } from '../../../index.js'
