// Many short rounds: a lease in a given state, some processes that go for it at the same moment, and who got it.

import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AcquireNoClobberLeaseInput, LeaseRecoveryStep } from '../../../index.js'
import { acquireNoClobberLease as nativeAcquire } from '../../../index.js'
import { acquireNoClobberLease } from '../harness/leases.mjs'
import { ended } from '../project.js'
import { Counts, fault } from './faults.js'
import type { Kind } from './group.js'

const CONTENDER = fileURLToPath(new URL('round-contender.mjs', import.meta.url))
export const LONG_AGO = Date.parse('2020-01-01T00:00:00.000Z')
/** Above the highest number that Linux or macOS give to a process. */
export const DEAD_PID = 4_999_999
export const STALE_MS = 1_000

export const START_STATES: (LeaseRecoveryStep | 'free' | 'dead holder')[] = [
  'free',
  'dead holder',
  'claim_created',
  'stale_pinned',
  'current_removed',
  'new_current_linked',
  'recovery_retired',
]

export interface Tally {
  rounds: number
  /** Rounds in which two or more held the lease at once. */
  doubleHolds: number
  /** Holders whose release failed. */
  lost: number
  /** Rounds after which a fresh native was refused though everyone had let go. */
  stuck: number
  /** The same, while a process lives whose call failed half-way: what it made ends with it. */
  blocked: number
  faults: Counts
}

export class Rounds {
  private readonly root = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'rounds-'))
  private readonly children: ChildProcess[] = []
  private members: Kind[] = []
  private played = 0

  /** Start the processes; they serve all rounds. */
  async begin(members: Kind[]): Promise<void> {
    this.members = members
    for (const kind of members) this.children.push(fork(CONTENDER, [kind]))
    await Promise.all(this.children.map(answer))
  }

  async play(state: (typeof START_STATES)[number], rounds: number): Promise<Tally> {
    const tally: Tally = { rounds, doubleHolds: 0, lost: 0, stuck: 0, blocked: 0, faults: new Counts() }
    for (let round = 0; round < rounds; round++) await this.round(state, tally)
    return tally
  }

  private async round(state: (typeof START_STATES)[number], tally: Tally): Promise<void> {
    const input = leaseInput(path.join(this.root, `${this.played++}.lease`))
    plant(input, state)
    const at = String(process.hrtime.bigint() + 1_000_000n)
    const answers = await this.all({ input, at })
    const holders = answers.filter(({ held }) => held).length
    if (holders > 1) tally.doubleHolds += 1
    const releases = await this.all('release')
    tally.lost += releases.filter(({ text }) => text !== '').length
    answers.concat(releases).forEach(({ text }, index) => {
      const meaning = fault(text)
      if (meaning) tally.faults.add(`${this.members[index % this.members.length]}: ${meaning}`)
    })
    if (refused(input)) tally[this.failedHalfWay(input.path) ? 'blocked' : 'stuck'] += 1
    rmSync(input.path, { recursive: true, force: true })
  }

  private all(message: object | string): Promise<{ held: boolean; text: string }[]> {
    return Promise.all(
      this.children.map((child) => {
        const answered = answer(child)
        child.send(message)
        return answered
      }),
    )
  }

  /** Whether one of the processes left its owner file there: its call failed after its claim was published. */
  private failedHalfWay(lease: string): boolean {
    const pids = readdirSync(lease)
      .filter((name) => name.startsWith('owner-'))
      .map((name) => JSON.parse(readFileSync(path.join(lease, name), 'utf8')).pid)
    return this.children.some((child) => pids.includes(child.pid))
  }

  async remove(): Promise<void> {
    await Promise.all(this.children.map(ended))
    rmSync(this.root, { recursive: true, force: true })
  }
}

export const leaseInput = (lease: string): AcquireNoClobberLeaseInput => ({
  path: lease,
  scope: 'workspace',
  authoritySha256: 'a'.repeat(64),
  staleAfterMs: STALE_MS,
})

/** Leave a lease as processes that ended left it: a holder, and one that was replacing it and came as far as `state`. */
export function plant(input: AcquireNoClobberLeaseInput, state: (typeof START_STATES)[number]): void {
  if (state === 'free') return
  acquireNoClobberLease({ ...input, pid: DEAD_PID, now: () => LONG_AGO })
  if (state === 'dead holder') return
  try {
    acquireNoClobberLease({
      ...input,
      pid: DEAD_PID,
      now: () => LONG_AGO + STALE_MS,
      onRecoveryStep: (step) => {
        if (step === state) throw new Error('ended here')
      },
    })
  } catch {
    // As it was meant to.
  }
}

function refused(input: AcquireNoClobberLeaseInput): boolean {
  try {
    nativeAcquire(input).release()
    return false
  } catch {
    return true
  }
}

function answer(child: ChildProcess): Promise<{ held: boolean; text: string }> {
  return new Promise((resolve, reject) => {
    const exit = () => reject(new Error('a contender ended'))
    child.once('exit', exit)
    child.once('message', (message) => {
      child.removeListener('exit', exit)
      resolve(message as { held: boolean; text: string })
    })
  })
}
