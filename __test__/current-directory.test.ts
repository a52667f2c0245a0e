import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const addon = path.resolve('index.js')
let parent: string

beforeEach(() => {
  parent = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'harnery-native-'))
})

afterEach(() => {
  rmSync(parent, { recursive: true, force: true })
})

/** Run a script of Node's in a directory that a shell has changed to, by its bytes. */
function run(cd: string, script: string) {
  const program = `const native = require(${JSON.stringify(addon)}); ${script}`
  return spawnSync('sh', ['-c', `${cd} && exec "$0" -e "$1"`, process.execPath, program], {
    cwd: parent,
    encoding: 'utf8',
  })
}

it('S5: below a directory whose name is not UTF-8, a relative path leads to that directory', () => {
  const named = (bytes: number[]) => Buffer.concat([Buffer.from(`${parent}/caf`), Buffer.from(bytes)])
  const directory = named([0xe9])
  // A directory that has the name as JavaScript prints it stands beside it.
  const namesake = named([0xef, 0xbf, 0xbd])
  for (const each of [directory, namesake]) mkdirSync(each)
  const done = run(String.raw`cd "$(printf 'caf\351')"`, "native.ensureServersDir('project')")
  expect(done.stderr).toBe('')
  expect(readdirSync(directory)).toEqual(['project'])
  expect(readdirSync(namesake)).toEqual([])
})

it('S5: a stream reads the history that its relative path named when it was made', () => {
  mkdirSync(Buffer.concat([Buffer.from(`${parent}/caf`), Buffer.from([0xe9])]))
  const done = run(String.raw`cd "$(printf 'caf\351')"`, `
    const limits = { max_record_bytes: 100, max_segment_bytes: 100 }
    native.appendDurableHistoryRecord('history', 'here', limits)
    const stream = native.streamDurableHistory('history', limits)
    process.chdir('/')
    stream.next().then(({ value }) => console.log(value))`)
  expect(done.stderr).toBe('')
  expect(done.stdout).toBe('here\n')
})

it('in a directory that was removed, a relative path is an error', () => {
  const done = run('mkdir gone && cd gone && rmdir ../gone', "native.ensureServersDir('project')")
  expect(done.status).toBe(1)
  expect(done.stderr).toContain('ENOENT')
  expect(readdirSync(parent)).toEqual([])
})
