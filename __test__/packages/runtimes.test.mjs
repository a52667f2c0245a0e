// One installation, every runtime: as an ES module, as CommonJS, and in a worker thread.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { consumer, expectWorks, expectWorksInWorker } from './consumer.mjs'
import { expectRun, here, node, row, tarballsHere, tools, versionOf, world } from './world.mjs'

function installed() {
  if (!existsSync(path.join(world, 'runtimes'))) {
    const { main, platform } = tarballsHere()
    expectRun('npm', ['install', '--offline', platform, main, '--loglevel=error'], { cwd: consumer('runtimes') })
  }
  return path.join(world, 'runtimes')
}

const otherNodes = here() === 'linux-x64-gnu' ? false : 'the packages with other Nodes are for Linux on x64 with glibc'

for (const major of [20, 22, 24]) {
  test(`Node ${major} loads it`, { skip: otherNodes }, () => {
    const program = node(major)
    assert.match(expectRun(program, ['--version']), new RegExp(`^v${major}\\.`))
    expectWorks(installed(), program)
    expectWorksInWorker(installed(), program)
    row(`Node ${major}: ESM, CommonJS, worker`, versionOf('Node', program))
  })
}

test('Bun loads it', () => {
  const bun = path.join(tools(), 'bun')
  expectWorks(installed(), bun)
  expectWorksInWorker(installed(), bun)
  row('Bun: ESM, CommonJS, worker', versionOf('Bun', bun))
})

test('Deno loads it', () => {
  const deno = path.join(tools(), 'deno')
  const run = ['run', '-A', '--node-modules-dir=manual', '--no-lock']
  expectWorks(installed(), deno, ...run)
  expectWorksInWorker(installed(), deno, ...run)
  row('Deno: ESM, CommonJS, worker', versionOf('Deno', deno))
})
