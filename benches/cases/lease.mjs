// A lease taken and released: against its own system calls, made by a Rust program, and against what JavaScript would use.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { acquireNoClobberLease as acquireInJavaScript } from '../../__test__/support/harness/leases.mjs'
import { bare, counting } from '../bare.mjs'
import { calls, counted } from '../calls.mjs'
import { timed } from '../harness.mjs'
import { packaged } from '../packages.mjs'
import { diskNote, onDisk, onMemory } from '../places.mjs'

const native = () => import('../../index.js')

export default [
  {
    name: 'lease/tmpfs',
    what: 'acquireNoClobberLease and release, from JavaScript, on a memory file system, against its bare system calls',
    limit: { ratio: 1.8 },
    setup: () => againstItsCalls(onMemory(), []),
  },
  {
    name: 'lease/tmpfs-calls',
    what: 'system calls of one acquireNoClobberLease and release',
    limit: { most: 24 },
    async figure() {
      const dir = onMemory()
      const { list } = calls('lease', dir, 'acquireNoClobberLease and release, warm, on tmpfs')
      rmSync(dir, { recursive: true })
      return { value: Number.parseInt(counted(list)), unit: 'calls', notes: [counted(list)] }
    },
  },
  {
    name: 'lease/tmpfs-javascript',
    what: 'the same, against the same steps in JavaScript with node:fs',
    limit: { ratio: 1 / 4 },
    async setup() {
      const { acquireNoClobberLease } = await native()
      const dir = onMemory()
      const [ours, theirs] = ['ours', 'theirs'].map((name) => leaseInput(path.join(dir, name)))
      mkdirSync(path.dirname(ours.path))
      return {
        ours: timed(() => acquireNoClobberLease(ours).release()),
        reference: timed(() => acquireInJavaScript(theirs).release()),
        end: () => rmSync(dir, { recursive: true }),
      }
    },
  },
  {
    name: 'lease/tmpfs-proper-lockfile',
    what: 'the same, against lockSync and its release of proper-lockfile',
    limit: { ratio: 1 / 2 },
    async setup() {
      const { acquireNoClobberLease } = await native()
      const { lockSync } = await packaged('proper-lockfile')
      const dir = onMemory()
      const input = leaseInput(dir)
      const file = path.join(dir, 'file')
      writeFileSync(file, '')
      return {
        ours: timed(() => acquireNoClobberLease(input).release()),
        reference: timed(() => lockSync(file, { realpath: false })()),
        end: () => rmSync(dir, { recursive: true }),
      }
    },
  },
  {
    name: 'lease/disk-process',
    what: 'the same on a disk with durability "process", against its bare system calls, one sync among them',
    limit: { ratio: 1.15 },
    samples: 12,
    setup: () => againstItsCalls(onDisk(), ['process']),
  },
  {
    name: 'lease/disk-power',
    what: 'the same on a disk with durability "power", against its bare system calls, three syncs among them',
    limit: { ratio: 1.15 },
    samples: 12,
    setup: () => againstItsCalls(onDisk(), ['power']),
  },
]

export function leaseInput(dir, durability) {
  return { path: path.join(dir, 'lease'), scope: 'bench', authoritySha256: 'a'.repeat(64), staleAfterMs: 60_000, durability }
}

async function againstItsCalls(dir, words) {
  const { acquireNoClobberLease } = await native()
  const where = words.length === 0 ? 'tmpfs' : `a disk, durability "${words[0]}"`
  const { list, notes } = calls('lease', dir, `acquireNoClobberLease and release, warm, on ${where}`, words)
  const file = path.join(dir, 'calls')
  writeFileSync(file, list)
  const replay = bare('calls', file, dir)
  const input = leaseInput(dir, words[0])
  return {
    ours: timed(() => acquireNoClobberLease(input).release()),
    reference: counting(replay),
    notes: [...notes, counted(list), ...(words.length === 0 ? [] : [diskNote(dir)])],
    async end() {
      await replay.end()
      rmSync(dir, { recursive: true })
    },
  }
}
