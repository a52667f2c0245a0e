// The export list is a committed snapshot (`npx vitest run exports -u` after a deliberate change), and the same for
// every way to ask for it.

import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as named from '../index.js'

const required = createRequire(import.meta.url)('../index.js')

it('is what it was', async () => {
  await expect(list(required)).toMatchFileSnapshot('exports.txt')
})

it('is the same for require and for import', () => {
  expect(Object.keys(named).filter((name) => name !== 'default').sort()).toEqual(Object.keys(required).sort())
})

it('is what index.d.ts declares', () => {
  const declared = readFileSync('index.d.ts', 'utf8').matchAll(/^export declare (?:function|const|namespace) (\w+)/gm)
  expect([...new Set([...declared].map((match) => match[1]))].sort()).toEqual(Object.keys(required).sort())
})

it('has no name that is declared and not there', () => {
  expect(Object.entries(required).filter(([, value]) => value === undefined)).toEqual([])
})

/** One name a line with its kind; those of a namespace behind its own. */
function list(exported: Record<string, unknown>, prefix = ''): string {
  const lines = Object.entries(exported).map(([name, value]) =>
    typeof value === 'object' && value !== null
      ? list(value as Record<string, unknown>, `${prefix}${name}.`)
      : `${prefix}${name}: ${typeof value === 'function' ? 'function' : JSON.stringify(value)}\n`,
  )
  return lines.sort().join('')
}
