// Where cases write: on memory, and on a disk.

import { existsSync, mkdtempSync, mkdirSync, statfsSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { root } from '../scripts/prepare.mjs'

const EXT4 = 0xef53

/** A new folder on a memory file system, or where temporary files go. */
export function onMemory() {
  return mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'harnery-bench-'))
}

/** A new folder on a disk: where HARNERY_BENCH_DISK says, else in the project's own target. */
export function onDisk() {
  const at = process.env.HARNERY_BENCH_DISK ?? path.join(root, 'target')
  mkdirSync(at, { recursive: true })
  return mkdtempSync(path.join(at, 'harnery-bench-'))
}

/** What a disk case says of its disk. */
export function diskNote(dir) {
  return statfsSync(dir).type === EXT4 ? 'on ext4' : `not on ext4: file system ${statfsSync(dir).type.toString(16)}`
}
