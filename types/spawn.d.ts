/** What a spawn of an agent program left behind. */
export interface AdapterRawResult {
  stdout: string
  stderr: string
  exitCode: number
  /** Milliseconds. */
  durationMs: number
  /** The final message, where the adapter delivers it in a file of its own (Codex). */
  resultFileText?: string
  /** The host killed the program for exceeding its time. It may have exited with 0 all the same. */
  timedOut?: boolean
  /** The `code` of a spawn that failed: `"ENOENT"` when there is no such program. */
  spawnErrno?: string
}

/**
 * The positively identified transport cause of a failed spawn: `environment`, the program was not there; `upstream`,
 * the vendor was reached and refused. It proves neither that there were no effects nor that a retry is allowed.
 */
export type SpawnFailureClass = 'environment' | 'upstream'

export type RunFailureClass = SpawnFailureClass | 'decision'

/** Whether the run changed anything. A transport error or an empty reply is never evidence that it did not. */
export type SpawnEffectEvidence =
  | { state: 'unknown' }
  | { state: 'none'; source: 'spawn_errno'; reference: 'ENOENT' }
  | { state: 'none' | 'observed'; source: 'adapter_evidence'; reference: string }

/** Whether the model refused the work: only where the vendor's envelope says so, in the field that `reference` names. */
export type SpawnRefusalEvidence =
  | { state: 'unknown' }
  | { state: 'refused'; source: 'vendor_envelope'; reference: string }

/** Where a failed run's text was found. */
export type SpawnOutputSource = 'final_message' | 'vendor_envelope' | 'stdout'

/** What there was of an answer: length in bytes and lower-case hexadecimal SHA-256, both of its UTF-8. */
export type SpawnPartialOutputEvidence =
  | { state: 'unknown' }
  | { state: 'absent'; source: SpawnOutputSource }
  | { state: 'present'; source: SpawnOutputSource; bytes: number; sha256: string }

/** Observations about a failed run. What is missing is unknown, and unknown allows nothing. */
export interface SpawnFailureEvidence {
  effect: SpawnEffectEvidence
  refusal: SpawnRefusalEvidence
  partial_output: SpawnPartialOutputEvidence
}

/** One run of an agent. */
export interface SpawnResult {
  ok: boolean
  /** The answer; of a failed run, what it said. */
  text: string
  sessionId?: string
  costUsd?: number
  /** Milliseconds. */
  durationMs: number
  /** Set when `ok` is false. */
  error?: string
  /** Set when `ok` is false and the cause was positively identified. */
  class?: SpawnFailureClass
  /** Set when `ok` is false. */
  failureEvidence?: SpawnFailureEvidence
}
