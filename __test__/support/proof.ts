// How far the proofs go, and what they tell `npm run prove`: the same as tests/proof/mod.rs.

import { appendFileSync } from 'node:fs'
import { afterAll } from 'vitest'

/** So many times as far as in `npm test`: a factor for rounds and times. */
export function effort(): number {
  const asked = Number(process.env.HARNERY_PROVE_EFFORT ?? 1)
  if (!Number.isSafeInteger(asked) || asked < 1) throw new Error('HARNERY_PROVE_EFFORT is a whole number')
  return asked
}

/** A row of the table: what is claimed, what was gone through to see it, and how often it was not so. */
export function row(claim: string, explored: string, violations: number): void {
  console.log(`${claim}: ${explored}, ${violations} violations`)
  const path = process.env.HARNERY_PROVE_ROWS
  // One write: suites run beside each other.
  if (path) appendFileSync(path, `${JSON.stringify({ claim, explored, violations })}\n`)
}

/** A row for the tests of the block that this is called in: each is one run, and one that fails is a violation. */
export function rowOfThisBlock(claim: string): void {
  afterAll(({}, { tasks }) => {
    const failed = tasks.filter(({ result }) => result?.state === 'fail')
    row(claim, `${tasks.length} runs`, failed.length)
  })
}
