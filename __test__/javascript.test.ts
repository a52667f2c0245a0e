import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { canonicalJson, stableDigest } from '../index.js'

/** The canonical form as JavaScript itself makes it. */
function canonicalForm(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonicalForm)
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value).sort(([a], [b]) => a.localeCompare(b, 'en'))
  return Object.fromEntries(members.map(([key, member]) => [key, canonicalForm(member)]))
}

const values: [string, unknown][] = [
  ['a lease authority', { run_id: 'r-1', lock: 'resume.lock' }],
  ['keys in no order', { b: 1, a: { d: [], c: null }, B: 2, _x: 3, '-y': 4 }],
  ['array indices among the keys', { z: 1, 10: 2, a: 3, 9: 4, 4294967294: 5, 4294967295: 6, '01': 7 }],
  ['undefined members', { a: undefined, b: [undefined, 1], c: { d: undefined } }],
  ['numbers', { a: 1.0, b: -0, c: 1e21, d: 5e-324, e: Number.NaN, f: Number.POSITIVE_INFINITY, g: 2 ** 63 }],
  ['lone surrogates', { '\ud801': '\ud800', '\ud800a': 1, '\ud800': 2, '\udfff': 3, z: 4, '\ue000': 5 }],
  ['keys that compare equal', { 'e\u0301': 1, é: 2, 'a\u0000': 3, a: 4 }],
  ['a member called __proto__', JSON.parse('{"b":1,"__proto__":{"y":1,"x":2}}')],
  ['an array', [3, { b: 1, a: 2 }, [[]]]],
  ['text', 'é\u2028"\\'],
  ['nothing', null],
]

describe.each(values)('%s', (_, value) => {
  const canonical = JSON.stringify(canonicalForm(value))

  it('has the canonical text that JavaScript makes', () => {
    expect(canonicalJson(value)).toBe(canonical)
  })

  it('has the digest of that text', () => {
    expect(stableDigest(value)).toBe(createHash('sha256').update(canonical).digest('hex'))
  })
})

it('a value is taken as JSON.stringify takes it', () => {
  const date = new Date(0)
  expect(canonicalJson({ b: date, a: { toJSON: () => ({ y: 1, x: 2 }) }, c: () => 1 })).toBe(
    '{"a":{"x":2,"y":1},"b":"1970-01-01T00:00:00.000Z"}',
  )
})

it('the order does not depend on the language of the environment', () => {
  expect(canonicalJson({ z: 1, å: 2, ä: 3, a: 4 })).toBe('{"a":4,"å":2,"ä":3,"z":1}')
})

it.each([undefined, () => 1, Symbol('s')])('what JSON has nothing for is a TypeError: %o', (value) => {
  for (const call of [canonicalJson, stableDigest]) {
    expect(() => call(value)).toThrow(TypeError)
    expect(() => call(value)).toThrow('value must be a value that JSON can express')
  }
})

it('nesting beyond 512 is refused', () => {
  const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown
  expect(canonicalJson(nested(512))).toHaveLength(1024)
  expect(() => canonicalJson(nested(513))).toThrow('nested too deeply')
})

it('what toJSON throws leaves the call, and cycles and bigints are refused as JSON.stringify refuses them', () => {
  const thrown = { not: 'an error' }
  const throwing = {
    toJSON() {
      throw thrown
    },
  }
  let caught: unknown
  try {
    canonicalJson(throwing)
  } catch (error) {
    caught = error
  }
  expect(caught).toBe(thrown)
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic
  expect(() => stableDigest(cyclic)).toThrow(TypeError)
  expect(() => stableDigest({ a: 1n })).toThrow(TypeError)
})
