// Generated from compat/layout.json; do not edit.

export { normalizeCursorResult, parseCursorOutput } from '../../../index.js'
