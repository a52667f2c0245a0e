import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type AdapterRawResult,
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

// The rules and their near misses are tests/spawn; here is what JavaScript hands in and gets back.

const adapters = [
  ['claude', 'claude', normalizeClaudeResult],
  ['codex', 'codex', normalizeCodexResult],
  ['cursor', 'cursor-agent', normalizeCursorResult],
  ['opencode', 'opencode', normalizeOpenCodeResult],
] as const

function raw(members: Partial<AdapterRawResult> = {}): AdapterRawResult {
  return { stdout: '', stderr: '', exitCode: 0, durationMs: 12, ...members }
}

function present(source: string, text: string) {
  const utf8 = Buffer.from(text)
  return { state: 'present', source, bytes: utf8.length, sha256: createHash('sha256').update(utf8).digest('hex') }
}

const unknown = { state: 'unknown' }

describe.each(adapters)('%s', (name, binary, normalize) => {
  it('that timed out is a failure whose output may be lost', () => {
    expect(normalize(raw({ timedOut: true, durationMs: 300_031 }))).toStrictEqual({
      ok: false,
      text: '',
      durationMs: 300_031,
      error: `${name} timed out after 300031ms and was killed`,
      failureEvidence: { effect: unknown, refusal: unknown, partial_output: unknown },
    })
  })

  it('that was not there says how to get it and did nothing', () => {
    const result = normalize(raw({ exitCode: 127, spawnErrno: 'ENOENT' }))
    expect(result).toMatchObject({
      ok: false,
      class: 'environment',
      failureEvidence: {
        effect: { state: 'none', source: 'spawn_errno', reference: 'ENOENT' },
        partial_output: { state: 'absent', source: 'stdout' },
      },
    })
    expect(result.error).toMatch(
      new RegExp(`^${binary} CLI not found on PATH; install: .*\\S  then authenticate: .*\\S`),
    )
  })

  it('that ended with a status of the vendor failed upstream', () => {
    const result = normalize(raw({ exitCode: 1, stderr: 'HTTP 503', stdout: 'half' }))
    expect(result).toStrictEqual({
      ok: false,
      text: 'half',
      durationMs: 12,
      error: `${binary} exited 1: HTTP 503\nhalf`,
      class: 'upstream',
      failureEvidence: { effect: unknown, refusal: unknown, partial_output: present('stdout', 'half') },
    })
  })

  it('hashes what it said as UTF-8, a lone surrogate as Buffer.from writes it', () => {
    const stdout = 'half a pair: \ud83d'
    const result = normalize(raw({ exitCode: 1, stdout }))
    expect(result.text).toBe(stdout)
    expect(result.error).toBe(`${binary} exited 1: ${stdout}`)
    expect(result.failureEvidence?.partial_output).toStrictEqual(present('stdout', stdout))
  })

  it('refuses what is no raw result, by name', () => {
    const refused: [unknown, string][] = [
      [undefined, 'raw must be an object, not undefined'],
      ['text', 'raw must be an object, not a string'],
      [{ ...raw(), stdout: 5 }, 'raw.stdout must be a string, not a number'],
      [{ ...raw(), stderr: undefined }, 'raw.stderr must be a string, not undefined'],
      [{ ...raw(), exitCode: null }, 'raw.exitCode must be a number, not null'],
      [{ ...raw(), exitCode: 0.5 }, 'raw.exitCode must be a safe integer, not 0.5'],
      [{ ...raw(), durationMs: Number.NaN }, 'raw.durationMs must be a finite number of milliseconds, not NaN'],
      [{ ...raw(), timedOut: 1 }, 'raw.timedOut must be a boolean, not a number'],
      [{ ...raw(), spawnErrno: -2 }, 'raw.spawnErrno must be a string, not a number'],
      [{ ...raw(), resultFileText: null }, 'raw.resultFileText must be a string, not null'],
    ]
    for (const [value, message] of refused) expect(() => normalize(value as AdapterRawResult)).toThrow(message)
  })
})

it('answers have the members that their vendors give', () => {
  const stdout = JSON.stringify({ result: 'done', session_id: 's1', total_cost_usd: 0.02 })
  expect(normalizeClaudeResult(raw({ stdout }))).toStrictEqual({
    ok: true,
    text: 'done',
    sessionId: 's1',
    costUsd: 0.02,
    durationMs: 12,
  })
  expect(normalizeCursorResult(raw({ stdout }))).toStrictEqual({
    ok: true,
    text: 'done',
    sessionId: 's1',
    durationMs: 12,
  })
  expect(normalizeCodexResult(raw({ stdout, resultFileText: 'done\n' }))).toStrictEqual({
    ok: true,
    text: 'done',
    durationMs: 12,
  })
  const stream = '{"type":"text","sessionID":"s2","part":{"text":"do"}}\nlog\n{"type":"text","part":{"text":"ne"}}'
  expect(normalizeOpenCodeResult(raw({ stdout: stream }))).toStrictEqual({
    ok: true,
    text: 'done',
    sessionId: 's2',
    durationMs: 12,
  })
})

it('a refusal that a Claude envelope states is evidence', () => {
  const stdout = JSON.stringify({ is_error: true, result: 'I cannot', stop_reason: 'refusal' })
  const refused = { state: 'refused', source: 'vendor_envelope', reference: 'stop_reason:refusal' }
  expect(normalizeClaudeResult(raw({ stdout })).failureEvidence?.refusal).toStrictEqual(refused)
  expect(observeSpawnFailure(raw({ stdout }), 'I cannot', 'vendor_envelope')).toStrictEqual({
    effect: unknown,
    refusal: refused,
    partial_output: present('vendor_envelope', 'I cannot'),
  })
  expect(observeSpawnFailure(raw({ stdout }), '', 'final_message')).toStrictEqual({
    effect: unknown,
    refusal: unknown,
    partial_output: { state: 'absent', source: 'final_message' },
  })
})

it('a source that is none is refused', () => {
  const ask = () => observeSpawnFailure(raw(), '', 'stderr' as never)
  expect(ask).toThrow('source must be "final_message" or "vendor_envelope" or "stdout", not "stderr"')
})

it('the failure text keeps the end, 500 characters unless said otherwise', () => {
  expect(vendorFailureText({})).toBe('')
  expect(vendorFailureText({ stdout: ' b ', stderr: 'a\n' })).toBe('a\nb')
  expect(vendorFailureText({ stderr: `${'x'.repeat(500)}y` })).toBe(`…${'x'.repeat(499)}y`)
  expect(vendorFailureText({ stderr: 'abc' }, 2)).toBe('…bc')
  expect(vendorFailureText({ stderr: 'a\u{1F600}b' }, 2)).toBe('…b')
  expect(vendorFailureText({ stderr: '\ud83d' })).toBe('\ud83d')
})

it.each([-1, 0.5, Number.NaN, 2 ** 53])('a limit of %s characters is refused', (limit) => {
  expect(() => vendorFailureText({ stderr: 'abc' }, limit)).toThrow(RangeError)
  expect(() => vendorFailureText({ stderr: 'abc' }, limit)).toThrow('maxChars must be')
})

it('only a status where a status stands, or a phrase, is a refusal of the vendor', () => {
  expect(isUpstreamFailureText('HTTP/1.1 503 Service Unavailable')).toBe(true)
  expect(isUpstreamFailureText('Rate-Limit')).toBe(true)
  expect(isUpstreamFailureText('at line 500')).toBe(false)
  expect(() => isUpstreamFailureText(503 as never)).toThrow('text must be a string, not a number')
})

it('outputs are parsed by themselves', () => {
  expect(parseCursorOutput('{"result":"a","session_id":"s","is_error":true}')).toStrictEqual({
    text: 'a',
    sessionId: 's',
    isError: true,
  })
  expect(parseCursorOutput('plain \ud83d')).toStrictEqual({ text: 'plain \ud83d', isError: false })
  expect(parseOpenCodeStream('not json\n{broken')).toStrictEqual({ text: '' })
  expect(parseOpenCodeStream('{"sessionID":"s"}')).toStrictEqual({ text: '', sessionId: 's' })
})

it('what a getter of the raw result throws leaves the call', () => {
  const thrown = Symbol('thrown')
  const throwing = {
    ...raw(),
    get stdout(): string {
      throw thrown
    },
  }
  let caught: unknown
  try {
    normalizeClaudeResult(throwing)
  } catch (error) {
    caught = error
  }
  expect(caught).toBe(thrown)
})
