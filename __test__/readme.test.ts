// The README says what is there: every export and every code. (Its examples are run by documents.test.ts.)

import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import * as native from '../index.js'

const readme = readFileSync('README.md', 'utf8')
const [, functions = ''] = readme.split('\n## Functions\n')
const [tables = ''] = functions.split('\n## ')
const [, errors = ''] = readme.split('\n## Errors\n')
const [codes = ''] = errors.split('\n## ')

it('names every export, and nothing that is none', () => {
  const named = [...tables.matchAll(/`([A-Za-z_]\w+)(?:\(.*?\))?`/g)].map((match) => match[1] as string)
  const exported = Object.keys(native).filter((name) => name !== 'default')
  expect(exported.filter((name) => !named.includes(name))).toEqual([])
  expect(named.filter((name) => /\w\(|^[A-Z_]+$/.test(name) && !exported.includes(name))).toEqual([])
  const called = [...tables.matchAll(/`(\w+)\(/g)].map((match) => match[1] as string)
  expect(called.filter((name) => !exported.includes(name))).toEqual([])
})

it('lists every code that an error can have, and no other', () => {
  const listed = [...codes.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1] as string).sort()
  const sources = ['loader.js', ...rustFiles('src')].map((name) => readFileSync(name, 'utf8')).join('\n')
  const used = [...sources.matchAll(/["']((?:ERR|LEASE|SERVER|HISTORY|WORKFLOW)_[A-Z_]+)["']/g)].map((match) => match[1] as string)
  const constants = Object.keys(native)
  expect([...new Set(used)].filter((code) => !constants.includes(code)).sort()).toEqual(listed)
})

it('has the figures that docs/performance.md has', () => {
  const [, measurements = ''] = readme.split('\n## Measurements\n')
  const told = [...measurements.matchAll(/^\| `([\w/-]+)` \|[^|]*\| ([^|]*?) \| ([^|]*?) ?\|/gm)].map(([, ...row]) => row)
  expect(told.length).toBeGreaterThan(5)
  const run = readFileSync('docs/performance.md', 'utf8')
  for (const [name, ours, reference] of told) {
    const [, measured = '', against = ''] = new RegExp(`^\\| ${name}: [^|]*\\| ([^|]*) \\|([^|]*)\\|`, 'm').exec(run) ?? []
    expect([name, measured.split(' (')[0], against.trim().split(' (')[0]]).toEqual([name, ours, reference])
  }
})

function rustFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.rs'))
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
}
