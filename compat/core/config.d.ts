// Generated from compat/layout.json; do not edit.

export { serverGcConfig, serverPortRange } from '../../index.js'
