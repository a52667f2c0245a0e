// The addon among processes that follow the harness's own steps, on real files, with kills at random moments and at each
// step of a recovery. Who was inside when is told by a log that knows nothing of leases. Long runs:
//
//   HARNERY_MIXED_SECONDS=600 npx vitest run __test__/mixed.test.ts

import { afterEach, describe, expect, it } from 'vitest'
import { acquireNoClobberLease, inspectNoClobberLease } from '../index.js'
import { Group, type Kind } from './support/mixed/group.js'
import type { Verdict } from './support/mixed/referee.js'

const SECONDS = Number(process.env.HARNERY_MIXED_SECONDS ?? 7)
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
    report(members, seen)
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
    report(members, seen)
    await afterwardsANativeAcquires()
  }, (SECONDS + 120) * 1_000)
})

/** Both kinds took part, processes were killed in the middle, and dead holders were replaced. */
function isNoWalkOver({ entered, recovered, killedInside }: Verdict): boolean {
  return (entered.native ?? 0) > 10 && (entered.javascript ?? 0) > 10 && recovered > 3 && killedInside > 10
}

async function afterwardsANativeAcquires() {
  const deadline = Date.now() + STALE_MS + SLACK_MS
  for (;;) {
    try {
      acquireNoClobberLease(group.input()).release()
      break
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  expect(inspectNoClobberLease(group.lease).state).toBe('free')
}

function report(members: Kind[], seen: Verdict): void {
  const entered = Object.entries(seen.entered).map(([kind, times]) => `${kind} ${times}`)
  console.log(
    `${members.join(' + ')}: ${seen.overlaps.length} overlaps, ${seen.lost.length} lost; entered ${entered.join(', ')}, ` +
      `${seen.recovered} of them after a dead holder; killed ${seen.killed}, ${seen.killedInside} of them inside or half-way in; ` +
      `longest wait ${Math.round(seen.longestWait)} ms${seen.faults}`,
  )
}
