// Generated from compat/layout.json; do not edit.

export { normalizeOpenCodeResult, parseOpenCodeStream } from '../../../index.js'
