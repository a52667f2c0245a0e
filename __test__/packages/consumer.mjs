// A consumer of the installed package.

import assert from 'node:assert/strict'

import { CJS, ESM, EXPECTED, WORKER } from './smoke.mjs'
import { expectRun, folder } from './world.mjs'

const FILES = { 'smoke.mjs': ESM, 'smoke.cjs': CJS, 'worker.cjs': WORKER }

/** An empty folder with the programs that use the package. */
export function consumer(name, files = {}) {
  return folder(name, { 'package.json': { name, private: true }, ...FILES, ...files })
}

/** Both module systems, by one runtime. */
export function expectWorks(at, program = process.execPath, ...before) {
  for (const file of ['smoke.mjs', 'smoke.cjs']) {
    const said = expectRun(program, [...before, file], { cwd: at })
    assert.deepEqual(JSON.parse(said), EXPECTED, `${program} ${file}`)
  }
}

/** A worker thread and the main thread, both with the addon. */
export function expectWorksInWorker(at, program = process.execPath, ...before) {
  assert.deepEqual(JSON.parse(expectRun(program, [...before, 'worker.cjs'], { cwd: at })), { same: true })
}
