// From the tarballs, in empty folders, without a network and without Rust.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { consumer, expectWorks, expectWorksInWorker } from './consumer.mjs'
import { environment, expectRun, folder, root, row, tarballsHere, versionOf } from './world.mjs'

test('there is no Rust on the PATH of all this', () => {
  for (const program of ['cargo', 'rustc', 'cc']) {
    const found = spawnSync('sh', ['-c', `command -v ${program}`], { env: environment(), encoding: 'utf8' }).stdout
    assert.equal(found, '', program)
  }
})

test('npm installs both tarballs offline, in an empty folder, and Node uses them', () => {
  const at = consumer('offline')
  const { main, platform } = tarballsHere()
  expectRun('npm', ['install', '--offline', platform, main, '--loglevel=error'], { cwd: at })
  expectWorks(at)
  expectWorksInWorker(at)
  row('npm, tarballs, offline', versionOf('npm', 'npm'))
  row('Node that runs the tests', `Node ${process.versions.node}`)
})

test('no package has an install script', () => {
  const packages = readdirSync(path.join(folder('offline'), 'node_modules')).filter((name) => name.startsWith('harnery-native'))
  assert.equal(packages.length, 2)
  for (const name of packages) {
    const { scripts } = JSON.parse(readFileSync(path.join(folder('offline'), 'node_modules', name, 'package.json'), 'utf8'))
    assert.equal(scripts, undefined, name)
  }
})

test('every link of the installed documents leads to something that is installed', () => {
  const at = path.join(folder('offline'), 'node_modules', 'harnery-native')
  const documents = readdirSync(at, { recursive: true }).filter((name) => name.endsWith('.md'))
  const links = documents.flatMap((name) => {
    const text = readFileSync(path.join(at, name), 'utf8')
    return [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, target]) => path.join(path.dirname(name), target))
  })
  assert.ok(links.length > 10)
  assert.deepEqual(links.filter((target) => !existsSync(path.join(at, target))), [])
})

test('the exports are those of the committed list', () => {
  const list = readFileSync(path.join(root, '__test__', 'exports.txt'), 'utf8').split('\n').filter(Boolean)
  const wanted = list.map((line) => line.split(':')[0]).filter((name) => !name.includes('.'))
  const groups = list.map((line) => line.split(/[.:]/)[0])
  const named = "import * as all from 'harnery-native'; console.log(JSON.stringify(Object.keys(all)))"
  const found = JSON.parse(expectRun(process.execPath, ['--input-type=module', '-e', named], { cwd: folder('offline') }))
  const exported = found.filter((name) => name !== 'default' && name !== 'module.exports').sort()
  assert.deepEqual(exported, [...new Set([...wanted, ...groups])].sort())
})

test('every module of the harness\'s layout loads by its path', () => {
  const { exports } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
  assert.ok('./compat/*' in exports)
  const layout = Object.keys(JSON.parse(readFileSync(path.join(root, 'compat', 'layout.json'), 'utf8')))
  const script = `for (const module of ${JSON.stringify(layout)}) require('harnery-native/compat/' + module)`
  expectRun(process.execPath, ['-e', script], { cwd: folder('offline') })
})

test('its command runs from the installed package', () => {
  const said = expectRun('npx', ['--offline', 'harnery-native', 'doctor', '--json'], { cwd: folder('offline') })
  assert.match(JSON.parse(said).binary, /node_modules/)
})

test('an install can be repeated', () => {
  const at = folder('offline')
  rmSync(path.join(at, 'node_modules'), { recursive: true })
  expectRun('npm', ['install', '--offline', '--loglevel=error'], { cwd: at })
  expectWorks(at)
})
