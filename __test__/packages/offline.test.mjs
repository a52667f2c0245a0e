// From the tarballs, in empty folders, without a network and without Rust.

import assert from 'node:assert/strict'
import { readFileSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { consumer, expectWorks, expectWorksInWorker } from './consumer.mjs'
import { expectRun, folder, tarballs, version } from './world.mjs'

test('npm installs both tarballs offline, in an empty folder, and Node uses them', () => {
  const at = consumer('offline')
  expectRun('npm', ['install', '--offline', ...tarballs(), '--loglevel=error'], { cwd: at })
  expectWorks(at)
  expectWorksInWorker(at)
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
  assert.match(message, /harnery-native-[a-z0-9-]+, which holds the binary for this platform, is not installed/)
  assert.match(message, /Supported: .*darwin-arm64/)
  assert.doesNotMatch(message, /npm has a bug|npm i\b/)
})

test('on a platform without a binary the error names it', () => {
  const probe = "Object.defineProperty(process, 'arch', { value: 'riscv64' }); try { require('harnery-native') } catch (e) { console.log(JSON.stringify({ code: e.code, message: e.message })) }"
  const { code, message } = JSON.parse(expectRun(process.execPath, ['-e', probe], { cwd: folder('offline') }))
  assert.equal(code, 'ERR_HARNERY_NATIVE_PLATFORM')
  assert.match(message, /has no binary for [a-z]+-riscv64/)
})

test('leaves nothing in its folders that stops a second install', () => {
  const at = folder('offline')
  rmSync(path.join(at, 'node_modules'), { recursive: true })
  expectRun('npm', ['install', '--offline', '--loglevel=error'], { cwd: at })
  expectWorks(at)
})
