// Who was inside when, from the log alone: nothing here knows how a lease works.

import { Counts, fault } from './faults.js'

/** What a run's log says; times in milliseconds. */
export interface Verdict {
  /** Two inside at once, or one entering while another had neither left nor been killed. Each as a sentence. */
  overlaps: string[]
  /** A holder that was not killed and could not let go. */
  lost: string[]
  /** Failures that are no contention, by implementation and meaning. */
  faults: Counts
  entered: Record<string, number>
  /** How many of those took over from a dead holder. */
  recovered: number
  /** How many processes were ended, and how many of them while they were inside or half-way in. */
  killed: number
  killedInside: number
  /** The longest time from when the last one left, or anybody was killed or gave up, until the next one entered. */
  longestWait: number
}

interface Line {
  at: bigint
  name: string
  pid: string
  what: string
  text: string
}

/**
 * Read a log whose lines are in the order in which they were written: `<nanoseconds> <name> <pid> <what> <text>`.
 *
 * `enter` is written after a lease was acquired and `leave` before it is released, so lines of two holders that overlap are
 * two holders that overlapped. `killed` is written before the signal is sent: a process that was named there never counts as inside.
 */
export function judge(log: string): Verdict {
  const verdict: Verdict = {
    overlaps: [],
    lost: [],
    faults: new Counts(),
    entered: {},
    recovered: 0,
    killed: 0,
    killedInside: 0,
    longestWait: 0,
  }
  const inside = new Map<string, string>()
  const dead = new Set<string>()
  let free: bigint | undefined
  for (const { at, name, pid, what, text } of lines(log)) {
    const kind = name.replace(/-.*/, '')
    if (what === 'enter') {
      if (dead.has(pid)) continue
      for (const [other, since] of inside) {
        verdict.overlaps.push(`${name} (${pid}) entered while ${since} (${other}) was inside`)
      }
      inside.set(pid, name)
      verdict.entered[kind] = (verdict.entered[kind] ?? 0) + 1
      if (text === 'recovered') verdict.recovered += 1
      if (free !== undefined) verdict.longestWait = Math.max(verdict.longestWait, Number(at - free) / 1e6)
      free = undefined
      continue
    }
    if (what === 'killed') {
      dead.add(pid)
      verdict.killed += 1
      if (inside.has(pid) || text !== '') verdict.killedInside += 1
    }
    if (what === 'fault') verdict.faults.add(`${kind}: ${fault(text)}`)
    if (what === 'lost') verdict.lost.push(`${name}: ${text}`)
    inside.delete(pid)
    if (inside.size === 0) free = at
  }
  return verdict
}

function lines(log: string): Line[] {
  return log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [at, name, pid, what, ...text] = line.split(' ') as [string, string, string, string, ...string[]]
      return { at: BigInt(at), name, pid, what, text: text.join(' ').trim() }
    })
}
