// By every package manager: from the tarballs, and from a registry that they were published to.

import path from 'node:path'
import { test } from 'node:test'

import { consumer, expectWorks } from './consumer.mjs'
import { environment, expectRun, folder, row, tarballsHere, tools, version, versionOf, withRegistry } from './world.mjs'

const MANAGERS = {
  npm: ['install', '--loglevel=error'],
  pnpm: ['add', '--reporter=silent'],
  yarn: ['add', '--silent', '--no-progress', '--cache-folder', folder('yarn-cache')],
  bun: ['add', '--cache-dir', folder('bun-cache')],
}

/** A program of the tools, or the npm that came with Node. */
function program(name) {
  return name === 'npm' ? name : path.join(tools(), name)
}

/** The root package asks for the binary's by its version. npm takes it from beside it; the others are told where it is. */
function instead(name, tarball) {
  const found = { [path.basename(tarball, `-${version}.tgz`)]: `file:${tarball}` }
  return { npm: {}, pnpm: { pnpm: { overrides: found } }, yarn: { resolutions: found }, bun: { overrides: found } }[name]
}

for (const [name, [add, ...options]] of Object.entries(MANAGERS)) {
  test(`${name} installs the tarballs in an empty folder`, () => {
    const { main, platform } = tarballsHere()
    const at = consumer(`tarballs-${name}`, { 'package.json': { private: true, ...instead(name, platform) } })
    const env = environment(tools())
    expectRun(program(name), [add, ...options, ...(name === 'npm' ? [platform] : []), main], { cwd: at, env })
    expectWorks(at)
    row(`${name}, tarballs`, versionOf(name, program(name)))
  })
}

test('it is published to a registry and installed from it by npm, pnpm, yarn and bun', async () => {
  await withRegistry(async ({ address, npmrc, server }) => {
    const env = { ...environment(tools()), npm_config_registry: address, YARN_REGISTRY: address, BUN_CONFIG_REGISTRY: address }
    for (const [name, [add, ...options]] of Object.entries(MANAGERS)) {
      const at = consumer(`registry-${name}`, { '.npmrc': npmrc })
      expectRun(program(name), [add, ...options, `harnery-native@${version}`], { cwd: at, env })
      expectWorks(at)
      row(`${name}, registry on 127.0.0.1`, `${versionOf(name, program(name))}, ${server}`)
    }
  })
})
