// What it costs to have the addon: the first `require`, and the bytes.

import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import path from 'node:path'
import { root } from '../../scripts/prepare.mjs'
import { emptyModule } from '../bare.mjs'

export default [
  {
    name: 'load/require',
    what: 'the first require of the package in a process, against that of a native module that does nothing',
    limit: { over: 3 },
    samples: 20,
    rounds: 1,
    async setup() {
      const empty = emptyModule()
      return {
        ours: () => firstRequire(`require(${JSON.stringify(path.join(root, 'index.js'))})`),
        reference: () => firstRequire(`process.dlopen({ exports: {} }, ${JSON.stringify(empty)})`),
      }
    },
  },
  {
    name: 'load/size',
    what: 'the binary',
    limit: { most: 1.5 },
    async figure() {
      const { size } = statSync(path.join(root, 'harnery-native.linux-x64-gnu.node'))
      return { value: size / 1e6, unit: 'MB' }
    },
  },
]

/** Nanoseconds, in a process of its own. */
function firstRequire(script) {
  const timed = `const start = process.hrtime.bigint(); ${script}; console.log(String(process.hrtime.bigint() - start))`
  const done = spawnSync(process.execPath, ['-e', timed], { encoding: 'utf8' })
  if (done.status !== 0) throw new Error(done.stderr)
  return Number(done.stdout)
}
