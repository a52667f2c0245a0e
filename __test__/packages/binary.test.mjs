// What the binary is: how old a glibc it runs with, how large it is, how long it takes to load.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { checkBinary } from '../../scripts/check-binary.mjs'
import { consumer } from './consumer.mjs'
import { expectRun, folder, here, root, row, tarballsHere } from './world.mjs'

const at = consumer('measured')
const { main, platform } = tarballsHere()
expectRun('npm', ['install', '--offline', platform, main, '--loglevel=error'], { cwd: at })
const binary = path.join(at, 'node_modules', `harnery-native-${here()}`, `harnery-native.${here()}.node`)

test('it is stripped, small, and for an old glibc', () => {
  const { size, glibc } = checkBinary(binary, here())
  row('size of the binary', `${(size / 1024).toFixed(0)} KiB`, 'within the limit')
  if (glibc) row('oldest glibc, by its strings', `glibc ${glibc}`, '<= 2.17')
})

test('one that the loader would refuse is not published', { skip: process.platform === 'linux' ? false : 'about ELF files' }, () => {
  const damaged = path.join(folder('damaged-binary'), 'damaged.node')
  writeFileSync(damaged, readFileSync(binary).fill(0, 1_003_520, 1_007_616))
  const { status, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts', 'check-binary.mjs'), damaged, here()], { encoding: 'utf8' })
  assert.deepEqual({ status, stderr: stderr.trim() }, { status: 1, stderr: `✗ The loader would refuse it: ${damaged} is damaged: its 4096 bytes from 1003520 on are zeros` })
})

const objdump = spawnSync('objdump', ['--version']).status === 0 && process.platform === 'linux'

test('objdump finds no younger glibc among its symbols', { skip: objdump ? false : 'there is no objdump for ELF files' }, () => {
  const symbols = expectRun('objdump', ['-T', binary], { env: process.env })
  const versions = [...symbols.matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(([, major, minor]) => [Number(major), Number(minor)])
  const [newest] = versions.sort(([a, b], [c, d]) => c - a || d - b)
  if (here().endsWith('-musl')) return assert.equal(newest, undefined)
  assert.ok(newest[0] === 2 && newest[1] <= 17, `glibc ${newest.join('.')}`)
  row('oldest glibc, by objdump -T', `glibc ${newest.join('.')}`, '<= 2.17')
})

const compiler = spawnSync('cc', ['--version']).status === 0

test('a cold require costs at most 5 ms more than that of an empty native module', { skip: compiler ? false : 'there is no C compiler for the empty module' }, () => {
  const empty = emptyModule()
  const runs = { ours: [], empty: [] }
  for (let round = 0; round < 20; round++) {
    runs.ours.push(coldRequire('harnery-native'))
    runs.empty.push(coldRequire(empty))
  }
  const [ours, bare] = Object.values(runs).map((times) => ({ wall: median(times, 'wall'), cpu: median(times, 'cpu') }))
  const over = { wall: ours.wall - bare.wall, cpu: ours.cpu - bare.cpu }
  console.log(`cold require: ${text(ours)}; an empty native module: ${text(bare)} (medians of 20)`)
  // What waits for a core on a busy machine is no cost of the module: held to the limit are the time on one, and the quickest in all.
  row('cold require over an empty module', `Node ${process.versions.node}`, `${text(over)} (<= 5)`)
  assert.ok(over.cpu <= 5)
  assert.ok(quickest(runs.ours) - quickest(runs.empty) <= 5)
})

/** In a process of its own, so that nothing of it is loaded. */
function coldRequire(name) {
  const probe = `
    const cpu = process.cpuUsage(), start = process.hrtime.bigint()
    require(${JSON.stringify(name)})
    const wall = process.hrtime.bigint() - start, { user, system } = process.cpuUsage(cpu)
    console.log(JSON.stringify({ wall: Number(wall) / 1e6, cpu: (user + system) / 1e3 }))`
  return JSON.parse(expectRun(process.execPath, ['-e', probe], { cwd: at }))
}

function text({ wall, cpu }) {
  return `${cpu.toFixed(2)} ms on a core, ${wall.toFixed(2)} ms in all`
}

function quickest(times) {
  return Math.min(...times.map(({ wall }) => wall))
}

function median(times, which) {
  const sorted = times.map((time) => time[which]).sort((a, b) => a - b)
  return (sorted[9] + sorted[10]) / 2
}

function emptyModule() {
  const built = folder('empty', { 'empty.c': 'void *napi_register_module_v1(void *env, void *exports) { (void)env; return exports; }\n' })
  const file = path.join(built, 'empty.node')
  expectRun('cc', ['-shared', '-fPIC', '-O2', '-o', file, path.join(built, 'empty.c')], { env: process.env })
  // A package around it, as ours has one.
  writeFileSync(path.join(built, 'index.js'), "module.exports = require('./empty.node')\n")
  return built
}
