// Generated from compat/layout.json; do not edit.

export { checkPidToken, processPresence, processStartToken, procfsStartToken, psStartToken, resetStartTokenCaches, signalIfSameGeneration, startTokenProbe, tokensAgree, verifyProcessGeneration } from '../../../../index.js'
export type { ProcessGenerationSignalDependencies, ProcessGenerationVerdict } from '../../../../index.js'
