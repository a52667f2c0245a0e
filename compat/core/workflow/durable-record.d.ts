// Generated from compat/layout.json; do not edit.

export { canonicalJson, stableDigest } from '../../../index.js'
