// The harness's own types, as its sources declare them, and those of index.d.ts are the same.

import type * as native from '../../index.js'
import {
  isUpstreamFailureText,
  normalizeClaudeResult,
  normalizeCodexResult,
  normalizeCursorResult,
  normalizeOpenCodeResult,
  observeSpawnFailure,
  parseCursorOutput,
  parseOpenCodeStream,
  vendorFailureText,
} from '../../index.js'
import { same } from './same.js'

declare namespace harness {
  type SpawnFailureClass = 'environment' | 'upstream'
  type RunFailureClass = SpawnFailureClass | 'decision'
  type SpawnEffectEvidence =
    | { state: 'unknown' }
    | { state: 'none'; source: 'spawn_errno'; reference: 'ENOENT' }
    | { state: 'none' | 'observed'; source: 'adapter_evidence'; reference: string }
  type SpawnRefusalEvidence = { state: 'unknown' } | { state: 'refused'; source: 'vendor_envelope'; reference: string }
  type SpawnOutputSource = 'final_message' | 'vendor_envelope' | 'stdout'
  type SpawnPartialOutputEvidence =
    | { state: 'unknown' }
    | { state: 'absent'; source: SpawnOutputSource }
    | { state: 'present'; source: SpawnOutputSource; bytes: number; sha256: string }
  interface SpawnFailureEvidence {
    effect: SpawnEffectEvidence
    refusal: SpawnRefusalEvidence
    partial_output: SpawnPartialOutputEvidence
  }
  interface SpawnResult {
    ok: boolean
    text: string
    sessionId?: string
    costUsd?: number
    durationMs: number
    error?: string
    class?: SpawnFailureClass
    failureEvidence?: SpawnFailureEvidence
  }
  interface AdapterRawResult {
    stdout: string
    stderr: string
    exitCode: number
    durationMs: number
    resultFileText?: string
    timedOut?: boolean
    spawnErrno?: string
  }
}

same<native.SpawnFailureClass, harness.SpawnFailureClass>(true)
same<native.RunFailureClass, harness.RunFailureClass>(true)
same<native.SpawnEffectEvidence, harness.SpawnEffectEvidence>(true)
same<native.SpawnRefusalEvidence, harness.SpawnRefusalEvidence>(true)
same<native.SpawnOutputSource, harness.SpawnOutputSource>(true)
same<native.SpawnPartialOutputEvidence, harness.SpawnPartialOutputEvidence>(true)
same<native.SpawnFailureEvidence, harness.SpawnFailureEvidence>(true)
same<native.SpawnResult, harness.SpawnResult>(true)
same<native.AdapterRawResult, harness.AdapterRawResult>(true)

type Normalize = (raw: harness.AdapterRawResult) => harness.SpawnResult
same<typeof normalizeClaudeResult, Normalize>(true)
same<typeof normalizeCodexResult, Normalize>(true)
same<typeof normalizeCursorResult, Normalize>(true)
same<typeof normalizeOpenCodeResult, Normalize>(true)

type Observe = (raw: harness.AdapterRawResult, text: string, source: harness.SpawnOutputSource) => harness.SpawnFailureEvidence
same<typeof observeSpawnFailure, Observe>(true)
same<typeof vendorFailureText, (raw: { stdout?: string; stderr?: string }, maxChars?: number) => string>(true)
same<typeof isUpstreamFailureText, (text: string) => boolean>(true)
same<typeof parseCursorOutput, (stdout: string) => { text: string; sessionId?: string; isError: boolean }>(true)
same<typeof parseOpenCodeStream, (stdout: string) => { text: string; sessionId?: string }>(true)

const raw: native.AdapterRawResult = { stdout: '', stderr: '', exitCode: 0, durationMs: 0 }
vendorFailureText(raw)
// @ts-expect-error a raw result has an exit code
normalizeClaudeResult({ stdout: '', stderr: '', durationMs: 0 })
// @ts-expect-error stderr is no source
observeSpawnFailure(raw, '', 'stderr')

// What a failed result is known to have done decides which members its evidence has.
const effect = normalizeCodexResult(raw).failureEvidence?.effect
if (effect?.state === 'observed') same<typeof effect.source, 'adapter_evidence'>(true)
