// Generated from compat/layout.json; do not edit.

import { custody } from '../../../../index.js'

export import createTunnelReadinessVerifier = custody.createTunnelReadinessVerifier
export import tunnelServerId = custody.tunnelServerId
export import tunnelServerInput = custody.tunnelServerInput
export import TunnelReadinessVerifier = custody.TunnelReadinessVerifier
export import TunnelState = custody.TunnelState
