import type {
  ProcessGenerationSignalDependencies,
  ProcessGenerationVerdict,
  ProcessInfo,
  ProcessWitness,
  ServerProcessDependencies,
  ServerRecord,
  StopResult,
} from '../../index.js'
import {
  ancestry,
  checkPidToken,
  judgeWitness,
  pidAlive,
  processPresence,
  processStartToken,
  processWitness,
  procfsStartToken,
  psStartToken,
  readProcessInfo,
  resetStartTokenCaches,
  signalGroupIfSameGeneration,
  signalIfSameGeneration,
  startTokenProbe,
  stopServer,
  tokensAgree,
  verifyProcessGeneration,
} from '../../index.js'
import { same } from './same.js'

same<ProcessGenerationVerdict, 'same' | 'different' | 'unknown'>(true)
same<typeof processStartToken, (pid: number) => string | null>(true)
same<typeof procfsStartToken, (pid: number) => string | null>(true)
same<typeof tokensAgree, (recorded: string, current: string) => boolean>(true)
same<typeof pidAlive, (pid: number) => boolean>(true)
same<typeof ancestry, (pid: number, maxHops?: number) => number[]>(true)
same<typeof resetStartTokenCaches, () => void>(true)
same<ReturnType<typeof startTokenProbe>, 'procfs' | 'ps'>(true)
same<ReturnType<typeof checkPidToken>, 'match' | 'mismatch' | 'unverified'>(true)
same<ReturnType<typeof processPresence>, 'present' | 'absent' | 'unknown'>(true)
same<ReturnType<typeof processWitness>, ProcessWitness | null>(true)
same<ReturnType<typeof judgeWitness>, 'same' | 'different' | 'gone' | 'elsewhere' | 'unknown'>(true)
same<ReturnType<typeof readProcessInfo>, ProcessInfo | null>(true)
same<ProcessInfo, { pid: number; ppid: number | null; command: string; cwd: string | null }>(true)
same<ReturnType<typeof signalIfSameGeneration>, { sent: boolean; verdict: ProcessGenerationVerdict }>(true)
same<ReturnType<typeof signalGroupIfSameGeneration>, { sent: boolean; verdict: ProcessGenerationVerdict }>(true)
same<ReturnType<typeof stopServer>, Promise<StopResult>>(true)
same<StopResult['method'], 'not-running' | 'signal' | 'refused'>(true)

const verdict: ProcessGenerationVerdict = verifyProcessGeneration(1, undefined)
verifyProcessGeneration(1, null, (pid: number) => String(pid))
psStartToken(1)
psStartToken(1, (pid: number) => ({ status: null, stdout: String(pid) }))
processPresence(1, (pid: number) => pid > 1)

const forSignals: ProcessGenerationSignalDependencies = { kill: (pid: number, signal: NodeJS.Signals) => void [pid, signal] }
const forServers: ServerProcessDependencies = { ...forSignals, probePid: () => true }
signalIfSameGeneration(1, 'l1', 'SIGTERM', forSignals)

declare const record: ServerRecord
stopServer(record)
stopServer(record, { coordRoot: null, graceMs: 5, signalDependencies: forServers, signal: new AbortController().signal })

// @ts-expect-error a token is text
verifyProcessGeneration(1, 5)
// @ts-expect-error a probe answers with text or null
verifyProcessGeneration(1, verdict, () => 5)
// @ts-expect-error no signal has this name
signalIfSameGeneration(1, 'l1', 'SIGNAL')
// @ts-expect-error signals are names
signalIfSameGeneration(1, 'l1', 15)
// @ts-expect-error a probe answers yes or no
processPresence(1, () => 'yes')
