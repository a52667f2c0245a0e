// Folders that are gone after each test, on a memory file system where there is one.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach } from 'vitest'

const roots: string[] = []

export function scratch(parent = existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()): string {
  const root = mkdtempSync(path.join(parent, 'harnery-'))
  roots.push(root)
  return root
}

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true })
})

/** What was thrown, as it is. */
export function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** Everything that comes. */
export async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}
