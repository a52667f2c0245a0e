// A damaged binary is refused before it is mapped. (What else the loader says is tested with the packages.)

import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'

const binary = 'harnery-native.linux-x64-gnu.node'
let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'loader-'))
  for (const name of ['index.js', 'loader.js', 'package.json', 'platforms.json']) copyFileSync(name, path.join(folder, name))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What loading the addon from the folder throws, in a process of its own. */
function failure(): { message: string; code: string; cause: string } {
  const script = `
    try { require('./index.js') } catch (error) {
      const { message, code, cause } = error
      process.stdout.write(JSON.stringify({ message, code, cause: String(cause) }))
    }`
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: folder, encoding: 'utf8' }))
}

it.each([0, 40, 1000, 500_000])('a binary that is cut off at %i bytes is an error, and no crash', (size) => {
  const cut = path.join(folder, binary)
  writeFileSync(cut, readFileSync(binary).subarray(0, size))
  const { message, code, cause } = failure()
  rmSync(cut)
  expect(code).toBe('ERR_HARNERY_NATIVE_PLATFORM')
  expect(message).toMatch(/^The binary of harnery-native for linux-x64-gnu could not be loaded: /)
  expect(cause).toContain(cut)
})
