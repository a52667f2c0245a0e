// Rounds of processes that go for one lease at the same moment, from each state that a kill leaves. Long runs:
//
//   HARNERY_MIXED_ROUNDS=2000 npx vitest run __test__/mixed-rounds.test.ts

import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Kind } from './support/mixed/group.js'
import { Rounds, START_STATES, type Tally } from './support/mixed/rounds.js'

const ROUNDS = Number(process.env.HARNERY_MIXED_ROUNDS ?? 40)
const NONE = { doubleHolds: 0, lost: 0, stuck: 0 }

let rounds: Rounds

beforeEach(() => {
  rounds = new Rounds()
})
afterEach(() => rounds.remove())

it.each<[string, Kind[]]>([
  ['four natives', ['native', 'native', 'native', 'native']],
  ['l20 one JavaScript contender among three natives', ['javascript', 'native', 'native', 'native']],
])('%s at the same moment, from every state that a kill leaves: one holder, nothing lost, nothing stuck', async (_, members) => {
  await rounds.begin(members)
  for (const state of START_STATES) {
    const tally = await rounds.play(state, ROUNDS)
    report(members, state, tally)
    expect(tally).toMatchObject(NONE)
    expect(tally.faults.startingWith('native')).toEqual([])
  }
}, 300_000)

it('four JavaScript contenders at the same moment: their own faults, counted; a native is stopped only by a process that lives', async () => {
  const members: Kind[] = ['javascript', 'javascript', 'javascript', 'javascript']
  await rounds.begin(members)
  for (const state of START_STATES) {
    const tally = await rounds.play(state, ROUNDS)
    report(members, state, tally)
    expect(tally.stuck).toBe(0)
  }
}, 300_000)

function report(members: Kind[], state: string, { faults, ...numbers }: Tally): void {
  const figures = Object.entries(numbers).map(([name, number]) => `${name} ${number}`)
  console.log(`${members.join(' + ')}, from ${state}: ${figures.join(', ')}${faults}`)
}
