// From a registry, by every package manager; then every runtime.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { consumer, expectWorks, expectWorksInWorker } from './consumer.mjs'
import { environment, expectRun, folder, node, tarballs, tools, version, withRegistry, world } from './world.mjs'

/** One installation for all runtimes. */
function installed() {
  if (!existsSync(path.join(world, 'runtimes'))) {
    expectRun('npm', ['install', '--offline', ...tarballs(), '--loglevel=error'], { cwd: consumer('runtimes') })
  }
  return path.join(world, 'runtimes')
}

test('it is published to a registry and installed from it by npm, pnpm, yarn and bun', async () => {
  const programs = tools()
  await withRegistry(async ({ address, npmrc }) => {
    const env = { ...environment(programs), npm_config_registry: address, YARN_REGISTRY: address, BUN_CONFIG_REGISTRY: address }
    const wanted = `harnery-native@${version}`
    for (const [name, args] of Object.entries({
      npm: ['install', wanted, '--loglevel=error'],
      pnpm: ['add', wanted, '--reporter=silent'],
      yarn: ['add', wanted, '--silent', '--no-progress', '--cache-folder', path.join(folder('yarn-cache'))],
      bun: ['add', wanted],
    })) {
      const at = consumer(`by-${name}`, { '.npmrc': npmrc })
      expectRun(name, args, { cwd: at, env })
      expectWorks(at)
    }
  })
})

for (const major of [20, 22, 24]) {
  test(`Node ${major} loads it as an ES module, as CommonJS and in a worker`, { skip: process.platform !== 'linux' || process.arch !== 'x64' ? 'the packages with other Nodes are for Linux on x64' : false }, () => {
    const program = node(major)
    assert.match(expectRun(program, ['--version']), new RegExp(`^v${major}\\.`))
    expectWorks(installed(), program)
    expectWorksInWorker(installed(), program)
  })
}

test('Bun loads it', () => {
  const bun = path.join(tools(), 'bun')
  expectWorks(installed(), bun)
  expectWorksInWorker(installed(), bun)
})

test('Deno loads it', () => {
  expectWorks(installed(), path.join(tools(), 'deno'), 'run', '-A', '--node-modules-dir=manual', '--no-lock')
})
