// What a failing call says, and what it means.

import { CONTENTION } from './implementation.mjs'

/** The harness's own faults, found by exploring its steps; mixed-replays.test.ts steps through V1, V2 and V3. */
const FAULTS: [RegExp, string][] = [
  [/^EEXIST.* link /, 'V3: another linked into the gap, and the claim stays'],
  [/ownership changed|owner (inode|bytes) changed/, 'V1: a late reclaimer took a living claim, and two replaced one holder'],
  [/^ENOENT.* rename .*recovery-retired/, 'V1: a late reclaimer took the own claim; `current` is linked already'],
  [/^ENOENT.* (unlink|lstat) .*owner-/, 'V5: two removed the same owner file, and the second fails'],
  [/recovery pin is corrupt/, 'V2 when it stays: a claim whose pin is another owner; V8 when it goes: the claim moved between two reads'],
  [/^ENOENT.* rename .*quarantine/, 'another cleared the abandoned claim first'],
  [/^ENOENT.*(claim\.json|stale-pin|recovery)/, 'V8: the claim or its pin moved between a look and a read'],
  [/^ENOENT.*current/, '`current` moved between a look and a read'],
]

/** What the text of a failure means; nothing for contention, the text itself for what has no name yet. */
export function fault(text: string): string | undefined {
  if (text === '' || CONTENTION.test(text)) return undefined
  return FAULTS.find(([pattern]) => pattern.test(text))?.[1] ?? `unexplained: ${text}`
}

/** Counts by text, the most frequent first, one a line. */
export class Counts {
  private readonly counts = new Map<string, number>()

  add(text: string, times = 1): void {
    this.counts.set(text, (this.counts.get(text) ?? 0) + times)
  }

  addAll(other: Counts): void {
    for (const [text, times] of other.counts) this.add(text, times)
  }

  startingWith(prefix: string): string[] {
    return [...this.counts.keys()].filter((text) => text.startsWith(prefix))
  }

  toString(): string {
    return this.sorted()
      .map(([text, times]) => `\n    ${String(times).padStart(5)} × ${text}`)
      .join('')
  }

  /** In one line, faults by their name where they have one. */
  inWords(): string {
    const byName = new Counts()
    for (const [text, times] of this.counts) byName.add(text.replace(/^\w+: /, '').replace(/^(V\d)\b.*/, '$1'), times)
    const words = byName.sorted().map(([name, times]) => `${times} × ${name}`)
    return words.length > 0 ? words.join(', ') : 'no failures'
  }

  private sorted(): [text: string, times: number][] {
    return [...this.counts].sort(([, a], [, b]) => b - a)
  }
}
