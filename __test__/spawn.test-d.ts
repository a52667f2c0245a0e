// The types are the harness's own: what it declares (below, as its sources show it) and what index.d.ts exports are the
// same types, and its code compiles against them.

import { expectTypeOf, it } from 'vitest'
import type * as native from '../index.js'
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
} from '../index.js'

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

it('the types are the same as the harness declares', () => {
  expectTypeOf<native.SpawnFailureClass>().toEqualTypeOf<harness.SpawnFailureClass>()
  expectTypeOf<native.RunFailureClass>().toEqualTypeOf<harness.RunFailureClass>()
  expectTypeOf<native.SpawnEffectEvidence>().toEqualTypeOf<harness.SpawnEffectEvidence>()
  expectTypeOf<native.SpawnRefusalEvidence>().toEqualTypeOf<harness.SpawnRefusalEvidence>()
  expectTypeOf<native.SpawnOutputSource>().toEqualTypeOf<harness.SpawnOutputSource>()
  expectTypeOf<native.SpawnPartialOutputEvidence>().toEqualTypeOf<harness.SpawnPartialOutputEvidence>()
  expectTypeOf<native.SpawnFailureEvidence>().toEqualTypeOf<harness.SpawnFailureEvidence>()
  expectTypeOf<native.SpawnResult>().toEqualTypeOf<harness.SpawnResult>()
  expectTypeOf<native.AdapterRawResult>().toEqualTypeOf<harness.AdapterRawResult>()
})

it('every adapter reads a raw result', () => {
  type Normalize = (raw: harness.AdapterRawResult) => harness.SpawnResult
  expectTypeOf(normalizeClaudeResult).toEqualTypeOf<Normalize>()
  expectTypeOf(normalizeCodexResult).toEqualTypeOf<Normalize>()
  expectTypeOf(normalizeCursorResult).toEqualTypeOf<Normalize>()
  expectTypeOf(normalizeOpenCodeResult).toEqualTypeOf<Normalize>()
})

it('the text rules and the parsers have the harness signatures', () => {
  expectTypeOf(observeSpawnFailure).toEqualTypeOf<
    (
      raw: harness.AdapterRawResult,
      text: string,
      source: harness.SpawnOutputSource,
    ) => harness.SpawnFailureEvidence
  >()
  expectTypeOf(vendorFailureText).toEqualTypeOf<
    (raw: { stdout?: string; stderr?: string }, maxChars?: number) => string
  >()
  expectTypeOf(vendorFailureText).toBeCallableWith({ stdout: '', stderr: '', exitCode: 1, durationMs: 0 })
  expectTypeOf(isUpstreamFailureText).toEqualTypeOf<(text: string) => boolean>()
  expectTypeOf(parseCursorOutput).toEqualTypeOf<
    (stdout: string) => { text: string; sessionId?: string; isError: boolean }
  >()
  expectTypeOf(parseOpenCodeStream).toEqualTypeOf<(stdout: string) => { text: string; sessionId?: string }>()
})

it('an optional member may be missing, but not undefined under exactOptionalPropertyTypes', () => {
  expectTypeOf<native.SpawnResult['sessionId']>().toEqualTypeOf<string | undefined>()
  const raw: native.AdapterRawResult = { stdout: '', stderr: '', exitCode: 0, durationMs: 0 }
  expectTypeOf(raw).toEqualTypeOf<harness.AdapterRawResult>()
  // @ts-expect-error a raw result has an exit code
  normalizeClaudeResult({ stdout: '', stderr: '', durationMs: 0 })
  // @ts-expect-error stderr is no source
  observeSpawnFailure(raw, '', 'stderr')
})
