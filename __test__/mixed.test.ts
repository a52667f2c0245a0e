// The addon among processes that follow the harness's own steps, on real files, with kills at random moments and at each
// step of a recovery. Who was inside when is told by a log that knows nothing of leases. Long runs:
//
//   HARNERY_MIXED_SECONDS=600 npx vitest run __test__/mixed.test.ts

import { afterEach, describe, expect, it } from 'vitest'
import { acquireNoClobberLease, inspectNoClobberLease } from '../index.js'
import { Group, type Kind, names } from './support/mixed/group.js'
import type { Verdict } from './support/mixed/referee.js'
import { effort, row } from './support/proof.js'

const SECONDS = Number(process.env.HARNERY_MIXED_SECONDS ?? 7 + 3 * (effort() - 1))
const STALE_MS = Number(process.env.HARNERY_MIXED_STALE_MS ?? 60)
const KILL_EVERY_MS = Number(process.env.HARNERY_MIXED_KILL_EVERY_MS ?? 300)
/** What a busy machine may add to the stale time: starting processes, and the turn of the one that may take over. */
const SLACK_MS = 3_000

let group: Group

afterEach(() => group.remove())

describe('processes that contend and are killed', () => {
  it.each<[string, Kind[]]>([
    ['one that follows the harness among four natives', ['javascript', 'native', 'native', 'native', 'native']],
    ['one that follows the harness and one native', ['javascript', 'native']],
  ])('l20 l21 %s: one holder at any time, and nothing is stuck', async (_, members) => {
    group = new Group(members, STALE_MS)
    const seen = await group.contend(SECONDS, KILL_EVERY_MS, isNoWalkOver)
    const ours = seen.faults.startingWith('native').length
    row(`lease, ${names(members)} as processes that are killed`, told(seen), seen.overlaps.length + seen.lost.length + ours)
    expect(seen.overlaps).toEqual([])
    expect(seen.lost).toEqual([])
    expect(seen.faults.startingWith('native')).toEqual([])
    expect(seen.longestWait).toBeLessThan(STALE_MS + SLACK_MS)
    expect(isNoWalkOver(seen)).toBe(true)
    await afterwardsANativeAcquires()
  }, (SECONDS + 120) * 1_000)

  it('several that follow the harness: their own faults, counted; and a native acquires afterwards', async () => {
    const members: Kind[] = ['javascript', 'javascript', 'javascript', 'native', 'native']
    group = new Group(members, STALE_MS)
    const seen = await group.contend(SECONDS, KILL_EVERY_MS, () => true)
    // Two that follow the harness rob each other, and whoever else is there: that is what is counted here, not denied.
    const theirs = `; theirs: ${seen.overlaps.length} overlaps, ${seen.lost.length} lost leases, ${seen.faults.inWords()}`
    const stuck = await isStuckAfterwards()
    row(`lease, ${names(members)} as processes that are killed: a native acquires afterwards`, told(seen) + theirs, Number(stuck))
    expect(stuck).toBe(false)
  }, (SECONDS + 120) * 1_000)
})

/** Both kinds took part, processes were killed in the middle, and dead holders were replaced. */
function isNoWalkOver({ entered, recovered, killedInside }: Verdict): boolean {
  return (entered.native ?? 0) > 10 && (entered.javascript ?? 0) > 10 && recovered > 3 && killedInside > 10
}

async function afterwardsANativeAcquires() {
  expect(await isStuckAfterwards()).toBe(false)
  expect(inspectNoClobberLease(group.lease).state).toBe('free')
}

async function isStuckAfterwards(): Promise<boolean> {
  const deadline = Date.now() + STALE_MS + SLACK_MS
  while (Date.now() < deadline) {
    try {
      acquireNoClobberLease(group.input()).release()
      return false
    } catch (error) {
      console.log(String(error))
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  return true
}

function told({ entered, recovered, killed, killedInside, longestWait }: Verdict): string {
  const turns = Object.entries(entered).map(([kind, times]) => `${times} ${kind}`)
  return (
    `${turns.join(' and ')} turns, ${recovered} of them after a dead holder, ${killed} kills, ${killedInside} of them inside or ` +
    `half-way in, the longest wait ${Math.round(longestWait)} ms`
  )
}
