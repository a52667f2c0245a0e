// Generated from compat/layout.json; do not edit.

export { normalizeCodexResult } from '../../../index.js'
