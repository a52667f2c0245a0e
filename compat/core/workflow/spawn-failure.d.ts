// Generated from compat/layout.json; do not edit.

export { isUpstreamFailureText, vendorFailureText } from '../../../index.js'
