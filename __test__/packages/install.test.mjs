// From the tarballs, in empty folders, without Rust: every package manager, a registry, every runtime.

import assert from 'node:assert/strict'
import { readFileSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { CJS, ESM, EXPECTED, WORKER } from './smoke.mjs'
import { environment, expectRun, folder, node, tarballs, tools, version, withRegistry } from './world.mjs'

const FILES = { 'smoke.mjs': ESM, 'smoke.cjs': CJS, 'worker.cjs': WORKER }

function consumer(name, files = {}) {
  return folder(name, { 'package.json': { name, private: true }, ...FILES, ...files })
}

function expectWorks(at, program = process.execPath, ...before) {
  for (const file of ['smoke.mjs', 'smoke.cjs']) {
    const said = expectRun(program, [...before, file], { cwd: at })
    assert.deepEqual(JSON.parse(said), EXPECTED, `${program} ${file}`)
  }
}

test('npm installs both tarballs offline, in an empty folder, and Node uses them', () => {
  const at = consumer('offline')
  expectRun('npm', ['install', '--offline', ...tarballs(), '--loglevel=error'], { cwd: at })
  expectWorks(at)
})

test('no package has an install script', () => {
  for (const name of readdirSync(path.join(folder('offline'), 'node_modules')).filter((name) => name.startsWith('harnery-native'))) {
    const { scripts } = JSON.parse(readFileSync(path.join(folder('offline'), 'node_modules', name, 'package.json'), 'utf8'))
    assert.equal(scripts, undefined, name)
  }
})

test('without the platform package there is one clear error that does not blame npm', () => {
  const at = consumer('missing')
  const main = tarballs().filter((name) => name.endsWith(`harnery-native-${version}.tgz`))
  expectRun('npm', ['install', '--offline', '--omit=optional', ...main, '--loglevel=error'], { cwd: at })
  const probe = "try { require('harnery-native') } catch (e) { console.log(JSON.stringify({ code: e.code, message: e.message })) }"
  const { code, message } = JSON.parse(expectRun(process.execPath, ['-e', probe], { cwd: at }))
  assert.equal(code, 'ERR_HARNERY_NATIVE_PLATFORM')
  assert.match(message, /harnery-native-linux-x64-gnu, which holds the binary for this platform, is not installed/)
  assert.match(message, /Supported: .*darwin-arm64/)
  assert.doesNotMatch(message, /npm has a bug|npm i\b/)
})

test('on a platform without a binary the error names it', () => {
  const probe = "Object.defineProperty(process, 'arch', { value: 'riscv64' }); try { require('harnery-native') } catch (e) { console.log(JSON.stringify({ code: e.code, message: e.message })) }"
  const { code, message } = JSON.parse(expectRun(process.execPath, ['-e', probe], { cwd: folder('offline') }))
  assert.equal(code, 'ERR_HARNERY_NATIVE_PLATFORM')
  assert.match(message, /has no binary for linux-riscv64-gnu/)
})

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
    expectWorks(folder('offline'), program)
    assert.deepEqual(JSON.parse(expectRun(program, ['worker.cjs'], { cwd: folder('offline') })), { same: true })
  })
}

test('Bun loads it', () => {
  const bun = path.join(tools(), 'bun')
  expectWorks(folder('offline'), bun)
  assert.deepEqual(JSON.parse(expectRun(bun, ['worker.cjs'], { cwd: folder('offline') })), { same: true })
})

test('Deno loads it', () => {
  expectWorks(folder('offline'), path.join(tools(), 'deno'), 'run', '-A', '--node-modules-dir=manual', '--no-lock')
})

test('leaves nothing in its folders that stops a second install', () => {
  const at = folder('offline')
  rmSync(path.join(at, 'node_modules'), { recursive: true })
  expectRun('npm', ['install', '--offline', '--loglevel=error'], { cwd: at })
  expectWorks(at)
})
