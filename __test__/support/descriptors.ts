// Every suite ends with the descriptors that it began with.

import { readdirSync, readlinkSync } from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'

/** What each open descriptor of this process is, but for those that the runtime opens at its own times. */
function descriptors(): string[] {
  const open: string[] = []
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      open.push(readlinkSync(`/proc/self/fd/${fd}`))
    } catch {
      // The descriptor that listed the folder itself.
    }
  }
  return open.filter((target) => !/^(pipe|socket|anon_inode:\[(eventpoll|eventfd|io_uring)\])/.test(target)).sort()
}

let before: string[] = []

beforeAll(() => {
  before = descriptors()
})

afterAll(() => {
  expect(descriptors()).toEqual(before)
})
