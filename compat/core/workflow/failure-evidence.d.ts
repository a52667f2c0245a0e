// Generated from compat/layout.json; do not edit.

export { observeSpawnFailure } from '../../../index.js'
