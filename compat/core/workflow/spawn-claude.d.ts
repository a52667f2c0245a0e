// Generated from compat/layout.json; do not edit.

export { normalizeClaudeResult } from '../../../index.js'
