// A second user of the project's group: root lends its group to nobody.

import { spawnSync } from 'node:child_process'
import { chmodSync, statSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { custody, readServer, registerServer } from '../index.js'
import { Project } from './support/project.js'

const mayBeAnother = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0
if (!mayBeAnother) console.log('skipped: only root, with setpriv, can be another user here')

let project: Project
let coordRoot: string

beforeEach(() => {
  project = new Project()
  coordRoot = project.root
  chmodSync(coordRoot, 0o770)
  project.configure('{ "storage": { "sharing": "group" } }')
  chmodSync(path.join(coordRoot, '.harnery'), 0o770)
  chmodSync(path.join(coordRoot, '.harnery', 'config.jsonc'), 0o660)
})

afterEach(() => project.remove())

/** What a script of another user of this group says. */
function another(script: string): unknown {
  const prelude = `const native = require(${JSON.stringify(path.resolve('index.js'))}); const coordRoot = ${JSON.stringify(coordRoot)};
    const attempt = (work) => { try { return work() } catch (error) { return { code: error.code, path: error.path } } };
    process.umask(0o077); console.log(JSON.stringify(${script}))`
  const user = ['--reuid=65534', '--regid=0', '--clear-groups', process.execPath, '-e', prelude]
  return JSON.parse(spawnSync('setpriv', user, { encoding: 'utf8', cwd: '/' }).stdout)
}

const input = { kind: 'session', type: 'preview', owner: null } as const

it.runIf(mayBeAnother)('s3 reads, registers and removes in a shared project', () => {
  registerServer({ ...input, id: 'mine' }, { coordRoot })
  const theirs = another(`native.registerServer({ id: 'theirs', kind: 'session', type: 'preview', owner: null }, { coordRoot })`)
  expect(readServer('theirs', { coordRoot })).toEqual(theirs)
  expect(statSync(project.file('theirs')).mode & 0o777).toBe(0o660)
  expect(another(`native.readServer('mine', { coordRoot })`)).toEqual(readServer('mine', { coordRoot }))
  // A foreign file is left alone by a touch, and goes with a removal that names it.
  const before = project.text('mine')
  expect(another(`attempt(() => native.touchServer('mine', { coordRoot })) ?? 'left'`)).toBe('left')
  expect(project.text('mine')).toBe(before)
  expect(another(`native.unregisterServer('mine', { coordRoot, pid: ${process.pid} })`)).toBe(true)
})

it.runIf(mayBeAnother)('s3 a second user’s custody ends in a clear EACCES, and nothing is changed', () => {
  const record = custody.registerServer({ ...input, id: 'mine' }, { coordRoot })
  const refused = another(`attempt(() => native.custody.unregisterServer(${JSON.stringify(record)}, { coordRoot }))`)
  expect(refused).toMatchObject({ code: 'EACCES', path: expect.stringContaining('.custody') })
  expect(custody.readServer('mine', { coordRoot })).toEqual(record)
})
