// Where no binary fits there is one sentence that says what is the matter and what to do, with one code.

import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { consumer } from './consumer.mjs'
import { expectRun, folder, here, node, row, tarballsHere, version, versionOf } from './world.mjs'

const binary = `harnery-native.${here()}.node`

/** A folder with both packages; `change` is given the folder of the binary's. */
function installed(name, change = () => {}) {
  const at = consumer(name)
  const { main, platform } = tarballsHere()
  expectRun('npm', ['install', '--offline', platform, main, '--loglevel=error'], { cwd: at })
  change(path.join(at, 'node_modules', `harnery-native-${here()}`))
  return at
}

/** What loading the package throws there: the message, without the list of platforms that each ends with. */
function refusal(at, { before = '', program = process.execPath } = {}) {
  const probe = `${before}; try { require('harnery-native') } catch (e) { console.log(JSON.stringify({ code: e.code, message: e.message })) }`
  const { code, message } = JSON.parse(expectRun(program, ['-e', probe], { cwd: at }))
  assert.equal(code, 'ERR_HARNERY_NATIVE_PLATFORM')
  assert.doesNotMatch(message, /npm has a bug|npm i\b|\n/)
  return message
}

/** Each message names what is supported. */
const SUPPORTED = / Supported: linux-x64-gnu \(.*\), linux-x64-musl \(.*\), linux-arm64-gnu .*darwin-arm64 \(.*\)\.$/

test('without the platform\'s package it is named', () => {
  const at = consumer('missing')
  expectRun('npm', ['install', '--offline', '--omit=optional', tarballsHere().main, '--loglevel=error'], { cwd: at })
  const message = refusal(at)
  assert.match(message, new RegExp(`^The package harnery-native-${here()}, which holds the binary for this platform, is not installed\\. Install harnery-native-${here()}@${version} `))
  assert.match(message, SUPPORTED)
})

test('on another platform it is named, and what to do there', () => {
  const at = installed('elsewhere')
  const pretend = (name, value) => `Object.defineProperty(process, '${name}', { value: '${value}' })`
  const riscv = refusal(at, { before: pretend('arch', 'riscv64') })
  assert.match(riscv, /^harnery-native has no binary for \w+-riscv64(-\w+)?\. Build it from a checkout with Rust \(npm run build\)\. /)
  assert.match(riscv, SUPPORTED)
  assert.match(refusal(at, { before: pretend('platform', 'win32') }), /^harnery-native has no binary for win32-\w+\. It runs on Linux and macOS\. /)
})

const NODE_BINARIES = here() === 'linux-x64-gnu' ? false : 'the packages with other Nodes are for Linux on x64 with glibc'

for (const major of [16, 18]) {
  test(`Node ${major} is told which Node it takes`, { skip: NODE_BINARIES }, () => {
    const program = node(major)
    const said = refusal(installed(`node-${major}-refused`), { program })
    assert.match(said, new RegExp(`^harnery-native needs Node 20 or later, and this is Node ${major}\\.\\d+\\.\\d+\\. Run it with a newer Node\\.$`))
    row(`Node ${major}: refused by name`, versionOf('Node', program), 'refused')
  })
}

const ELF = process.platform === 'linux' ? false : 'about ELF files'

/** Another file in the binary's place, and what is said of it. */
const DAMAGED = {
  'an empty file': [(file) => truncateSync(file, 0), /could not be loaded: .* is no binary for Linux\./],
  'a text': [(file) => writeFileSync(file, 'version https://git-lfs.example/spec/v1\n'.repeat(9)), /could not be loaded: .* is no binary for Linux\./],
  'a half': [(file) => truncateSync(file, Math.floor(readFileSync(file).length / 2)), /could not be loaded: .* is damaged: it has \d+ bytes, of at least \d+\./],
  'a cut file whose header knows of no section headers': [(file) => writeFileSync(file, readFileSync(file).subarray(0, 1_000_000).fill(0, 40, 48)), /could not be loaded: .* is damaged: it has \d+ bytes, of at least \d+\./],
  // What a power cut after the installation leaves: the length, and not the content.
  ...Object.fromEntries([1000, 100_000, 1_000_000, 2_000_000, 2_500_000].map((from) => [
    `a binary with zeros from byte ${from} on`,
    [(file) => writeFileSync(file, readFileSync(file).fill(0, Math.min(from, readFileSync(file).length - 1000))), /could not be loaded: .* is damaged: its end is zeros\./],
  ])),
  'a binary with a hole': [(file) => withHole(file, 1_003_520, 1_007_616), /could not be loaded: .* is damaged: its 4096 bytes from 1003520 on are zeros\./],
  'a binary for another processor': [
    (file) => {
      const bytes = readFileSync(file)
      bytes.writeUInt16LE(process.arch === 'x64' ? 183 : 62, 18)
      writeFileSync(file, bytes)
    },
    /could not be loaded: .*\.node: .*\./,
  ],
  'a library that is no addon': [(file) => writeFileSync(file, withoutEntry(readFileSync(file))), /could not be loaded: Module did not self-register: .*\./],
}

for (const [what, [change, message]] of Object.entries(DAMAGED)) {
  test(`${what} in the binary's place is an error, and no crash`, { skip: ELF }, () => {
    const at = installed('damaged', (packed) => change(path.join(packed, binary)))
    const said = refusal(at)
    assert.match(said, message)
    assert.match(said, new RegExp(` Install harnery-native-${here()}@${version} again\\. `))
    assert.match(said, SUPPORTED)
    rmSync(at, { recursive: true })
  })
}

test('a binary of another version is refused, and both are named', () => {
  const at = installed('mixed', (packed) => {
    const manifest = path.join(packed, 'package.json')
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(`"${version}"`, '"0.0.1"'))
  })
  assert.match(refusal(at), new RegExp(`could not be loaded: harnery-native-${here()} has version 0\\.0\\.1, and harnery-native has ${version}\\. Install `))
})

test('what is there is never touched: a read-only installation loads', () => {
  const at = installed('read-only')
  const before = readdirSync(path.join(at, 'node_modules', 'harnery-native'))
  const probe = "const fs = require('node:fs'); for (const name of ['writeFileSync', 'mkdirSync', 'rmSync']) fs[name] = () => { throw new Error(name) }; require('harnery-native')"
  expectRun(process.execPath, ['-e', probe], { cwd: at })
  assert.deepEqual(readdirSync(path.join(folder('read-only'), 'node_modules', 'harnery-native')), before)
})

/** All of it but the bytes between, which are never written. */
function withHole(file, from, to) {
  const bytes = readFileSync(file)
  const rest = openSync(file, 'w')
  writeSync(rest, bytes, 0, from, 0)
  writeSync(rest, bytes, to, bytes.length - to, to)
  closeSync(rest)
}

/** The function that Node looks for is called otherwise. (Another library of the machine would do, but which ones Node can load differs from system to system.) */
function withoutEntry(bytes) {
  const name = 'napi_register_module_v1'
  const at = bytes.indexOf(name)
  assert.notEqual(at, -1)
  return bytes.fill('x', at, at + name.length)
}
