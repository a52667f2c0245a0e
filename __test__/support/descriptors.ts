// Every suite ends with the descriptors that it began with.

import { readdirSync, readlinkSync } from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'

/** What each open descriptor of this process is: a path, or a kind where the rest is only a number. */
function descriptors(): string[] {
  const open: string[] = []
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      open.push(readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, ''))
    } catch {
      // The descriptor that listed the folder itself.
    }
  }
  return open.sort()
}

/** The waiting thread's own two, which stay from the first wait on. */
const ONCE = ['anon_inode:[eventfd]', 'anon_inode:[eventpoll]']

function left(before: string[]): string[] {
  const unexplained = descriptors()
  for (const known of [...before, ...ONCE]) {
    const place = unexplained.indexOf(known)
    if (place >= 0) unexplained.splice(place, 1)
  }
  return unexplained
}

let before: string[] = []

beforeAll(() => {
  before = descriptors()
})

// Children and sockets that a suite has ended are closed by a later turn of the event loop.
afterAll(async () => {
  const end = performance.now() + 5_000
  while (left(before).length > 0 && performance.now() < end) await new Promise(setImmediate)
  expect(left(before)).toEqual([])
})
