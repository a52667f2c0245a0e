import type { ProcessGenerationVerdict } from '../../index.js'
import { checkPidToken, processStartToken, tokensAgree, verifyProcessGeneration } from '../../index.js'
import { same } from './same.js'

same<ProcessGenerationVerdict, 'same' | 'different' | 'unknown'>(true)
same<typeof processStartToken, (pid: number) => string | null>(true)
same<typeof tokensAgree, (recorded: string, current: string) => boolean>(true)
same<ReturnType<typeof checkPidToken>, 'match' | 'mismatch' | 'unverified'>(true)

const verdict: ProcessGenerationVerdict = verifyProcessGeneration(1, undefined)
verifyProcessGeneration(1, null, (pid: number) => String(pid))
// @ts-expect-error a token is text
verifyProcessGeneration(1, 5)
// @ts-expect-error a probe answers with text or null
verifyProcessGeneration(1, verdict, () => 5)
