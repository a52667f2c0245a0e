// Rounds of processes that go for one lease at the same moment, from each state that a kill leaves. Long runs:
//
//   HARNERY_MIXED_ROUNDS=2000 npx vitest run __test__/mixed-rounds.test.ts

import { afterEach, beforeEach, expect, it } from 'vitest'
import { Counts } from './support/mixed/faults.js'
import { type Kind, names } from './support/mixed/group.js'
import { Rounds, START_STATES, type Tally } from './support/mixed/rounds.js'
import { effort, row } from './support/proof.js'

const ROUNDS = Number(process.env.HARNERY_MIXED_ROUNDS ?? 40 + 20 * (effort() - 1))
const LIMIT_MS = 300_000 * effort()

let rounds: Rounds

beforeEach(() => {
  rounds = new Rounds()
})
afterEach(() => rounds.remove())

it.each<[string, Kind[]]>([
  ['four natives', ['native', 'native', 'native', 'native']],
  ['l20 one JavaScript contender among three natives', ['javascript', 'native', 'native', 'native']],
])('%s at the same moment, from every state that a kill leaves: one holder, nothing lost, nothing stuck', async (_, members) => {
  const all = await playAll(members)
  const ours = all.faults.startingWith('native').length
  row(`lease, ${names(members)} as processes at the same moment`, told(all), all.doubleHolds + all.lost + all.stuck + ours)
  expect(all).toMatchObject({ doubleHolds: 0, lost: 0, stuck: 0 })
  expect(all.faults.startingWith('native')).toEqual([])
}, LIMIT_MS)

it('four JavaScript contenders at the same moment: their own faults, counted; a native is stopped only by a process that lives', async () => {
  const members: Kind[] = ['javascript', 'javascript', 'javascript', 'javascript']
  const all = await playAll(members)
  const theirs = `; theirs: ${all.doubleHolds} double holds, ${all.lost} lost leases, ${all.faults.inWords()}`
  row(`lease, ${names(members)} as processes at the same moment: a native acquires once they have ended`, told(all) + theirs, all.stuck)
  expect(all.stuck).toBe(0)
}, LIMIT_MS)

async function playAll(members: Kind[]): Promise<Tally> {
  const all: Tally = { rounds: 0, doubleHolds: 0, lost: 0, stuck: 0, blocked: 0, faults: new Counts() }
  await rounds.begin(members)
  for (const state of START_STATES) {
    const tally = await rounds.play(state, ROUNDS)
    report(members, state, tally)
    for (const key of ['rounds', 'doubleHolds', 'lost', 'stuck', 'blocked'] as const) all[key] += tally[key]
    all.faults.addAll(tally.faults)
  }
  return all
}

const told = ({ rounds, blocked }: Tally) =>
  `${rounds} rounds from ${START_STATES.length} start states, a fresh native kept waiting by a living process in ${blocked}`

function report(members: Kind[], state: string, { faults, ...numbers }: Tally): void {
  const figures = Object.entries(numbers).map(([name, number]) => `${name} ${number}`)
  console.log(`${members.join(' + ')}, from ${state}: ${figures.join(', ')}${faults}`)
}
