// A lease taken and released, on a memory file system: against its own system calls, made by a Rust program.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { bare, counting } from '../bare.mjs'
import { timed } from '../harness.mjs'
import { record, shape } from '../strace.mjs'

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const committed = path.join(here, 'lease.calls')

export default [
  {
    name: 'lease/tmpfs',
    what: 'acquireNoClobberLease and release, from JavaScript, on a memory file system',
    limit: { ratio: 3 },
    async setup() {
      const { acquireNoClobberLease } = await import('../../index.js')
      const memory = existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()
      const dir = mkdtempSync(path.join(memory, 'harnery-bench-'))
      const { list, notes } = calls(dir)
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

/** The operation's calls as strace shows them now; the committed list where there is no strace. */
function calls(dir) {
  const known = readFileSync(committed, 'utf8')
  const now = record(path.join(here, 'traced', 'lease.mjs'), dir)
  if (now === null) return { list: known, notes: ['strace cannot be used here: replaying benches/lease.calls'] }
  if (process.env.HARNERY_BENCH_RECORD) writeFileSync(committed, heading + now)
  const same = shape(now).join() === shape(known).join()
  const note = same
    ? 'replaying what strace shows, which is what benches/lease.calls lists'
    : 'replaying what strace shows; benches/lease.calls lists something else (HARNERY_BENCH_RECORD=1 renews it)'
  return { list: now, notes: [note] }
}

const heading = '# acquireNoClobberLease and release, warm, on tmpfs. Written with HARNERY_BENCH_RECORD=1 npm run bench -- lease.\n'

function tally(names) {
  const counts = new Map()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => (count === 1 ? name : `${count} ${name}`)).join(', ')
}
