// The referee of the contention tests sees what it has to see.

import { expect, it } from 'vitest'
import { Counts, fault } from './support/mixed/faults.js'
import { judge } from './support/mixed/referee.js'

const log = (...lines: string[]) => judge(lines.map((line, index) => `${(index + 1) * 1_000_000} ${line}`).join('\n'))

it('sees one entering before another has left', () => {
  const seen = log('native-0 10 enter ', 'javascript-1 11 enter recovered', 'native-0 10 leave ')
  expect(seen.overlaps).toEqual(['javascript-1 (11) entered while native-0 (10) was inside'])
  expect(seen).toMatchObject({ entered: { native: 1, javascript: 1 }, recovered: 1 })
})

it('takes a process that was killed for one that is not inside', () => {
  const seen = log('native-0 10 enter ', 'native-0 10 killed ', 'native-1 11 enter recovered', 'native-1 11 leave ')
  expect(seen).toMatchObject({ overlaps: [], killed: 1, killedInside: 1, recovered: 1, longestWait: 1 })
})

it('does not wait for one that was killed before it could say that it entered', () => {
  const seen = log('native-0 10 killed ', 'native-0 10 enter ', 'native-1 11 enter ')
  expect(seen.overlaps).toEqual([])
})

it('names a holder that could not let go, and a failure that is no contention', () => {
  const seen = log(
    'native-0 10 enter ',
    'native-0 10 leave ',
    'native-0 10 lost lease workspace ownership changed',
    "javascript-1 11 fault EEXIST: file already exists, link 'a' -> 'current'",
  )
  expect(seen.lost).toEqual(['native-0: lease workspace ownership changed'])
  expect(String(seen.faults)).toContain('1 × javascript: V3')
})

it('takes no refusal for a fault, and no fault for a refusal', () => {
  expect(fault('lease workspace is held by a live or unexpired owner, or its liveness is unknown: alive')).toBeUndefined()
  expect(fault('lease workspace recovery is already in progress')).toBeUndefined()
  expect(fault('lease workspace current is corrupt')).toBe('unexplained: lease workspace current is corrupt')
})

it('tells faults of one name in one number', () => {
  const counts = new Counts()
  for (const text of ['V1: a late reclaimer', 'V1: another way', 'V3: a gap', 'no name']) counts.add(`javascript: ${text}`)
  expect(counts.inWords()).toBe('2 × V1, 1 × V3, 1 × no name')
  expect(new Counts().inWords()).toBe('no failures')
})
