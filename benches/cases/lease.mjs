// A lease taken and released, on a memory file system: against its own system calls, made by a Rust program.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { bare, counting } from '../bare.mjs'
import { calls } from '../calls.mjs'
import { timed } from '../harness.mjs'
import { shape } from '../strace.mjs'

export default [
  {
    name: 'lease/tmpfs',
    what: 'acquireNoClobberLease and release, from JavaScript, on a memory file system',
    limit: { ratio: 3 },
    async setup() {
      const { acquireNoClobberLease } = await import('../../index.js')
      const memory = existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()
      const dir = mkdtempSync(path.join(memory, 'harnery-bench-'))
      const { list, notes } = calls('lease', dir, 'acquireNoClobberLease and release, warm, on tmpfs')
      const file = path.join(dir, 'calls')
      writeFileSync(file, list)
      const replay = bare('calls', file, dir)
      const input = leaseInput(dir)
      return {
        ours: timed(() => acquireNoClobberLease(input).release()),
        reference: counting(replay),
        notes: [...notes, `${shape(list).length} system calls: ${tally(shape(list))}`],
        end() {
          replay.end()
          rmSync(dir, { recursive: true })
        },
      }
    },
  },
]

export function leaseInput(dir) {
  return { path: path.join(dir, 'lease'), scope: 'bench', authoritySha256: 'a'.repeat(64), staleAfterMs: 60_000 }
}

function tally(names) {
  const counts = new Map()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => (count === 1 ? name : `${count} ${name}`)).join(', ')
}
