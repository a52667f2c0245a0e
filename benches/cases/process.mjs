// Questions about a process: against their own system calls, made by a Rust program.

import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { bare, counting } from '../bare.mjs'
import { calls, counted } from '../calls.mjs'
import { timed } from '../harness.mjs'
import { onMemory } from '../places.mjs'

export default [ask('token', 'processStartToken'), ask('presence', 'processPresence'), ask('info', 'readProcessInfo')]

function ask(name, verb) {
  return {
    name: `process/${name}`,
    what: `${verb} of a process, against its bare system calls`,
    limit: { ratio: 1.5 },
    async setup() {
      const native = await import('../../index.js')
      const dir = onMemory()
      const { list, notes } = calls('process', dir, `${verb}, warm`, [verb])
      const file = path.join(dir, 'calls')
      writeFileSync(file, list)
      const replay = bare('calls', file, dir)
      return {
        // The same process for both: what the kernel has to tell of it is the same.
        ours: timed(() => native[verb](replay.child.pid)),
        reference: counting(replay),
        notes: [...notes, counted(list)],
        async end() {
          await replay.end()
          rmSync(dir, { recursive: true })
        },
      }
    },
  }
}
