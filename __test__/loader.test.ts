// A damaged binary is refused before it is mapped. (What else the loader says is tested with the packages.)

import { execFileSync } from 'node:child_process'
import { closeSync, copyFileSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const { checkBlocks, checkHoles, checkWhole } = createRequire(import.meta.url)('../whole.js') as Record<'checkBlocks' | 'checkHoles' | 'checkWhole', (file: string, system?: string) => void>

const binary = readdirSync('.').find((name) => /^harnery-native\..*\.node$/.test(name)) as string
const here = binary.split('.')[1]
let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'loader-'))
  for (const name of ['index.js', 'loader.js', 'whole.js', 'package.json', 'platforms.json']) copyFileSync(name, path.join(folder, name))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A copy of the binary with something done to it. */
function changed(change: (bytes: Buffer) => Buffer): string {
  const copy = path.join(folder, 'changed.node')
  writeFileSync(copy, change(readFileSync(binary)))
  return copy
}

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
  expect(message).toContain(`The binary of harnery-native for ${here} could not be loaded: `)
  expect(cause).toContain(cut)
})

describe.skipIf(process.platform !== 'linux')('a binary for Linux', () => {
  it('is whole as it was built', () => {
    expect(() => checkWhole(binary, 'linux')).not.toThrow()
  })

  it.each([1000, 100_000, 1_000_000, 2_000_000, 2_500_000])('is damaged when everything from byte %i on is zeros', (from) => {
    const file = changed((bytes) => bytes.fill(0, from))
    expect(() => checkWhole(file, 'linux')).toThrow(`${file} is damaged: its end is zeros`)
  })

  it('is damaged when it is cut off and its header knows of no section headers', () => {
    const file = changed((bytes) => bytes.subarray(0, 1_000_000).fill(0, 40, 48))
    expect(() => checkWhole(file, 'linux')).toThrow(/ is damaged: it has 1000000 bytes, of at least \d+$/)
  })

  it('is damaged when its header points beyond every file', () => {
    for (const at of [32, 40]) {
      const file = changed((bytes) => bytes.fill(0xff, at, at + 8))
      expect(() => checkWhole(file, 'linux')).toThrow(/ is damaged: it has \d+ bytes, of at least \d+$/)
    }
  })

  it('is an error or none whatever its header says', () => {
    const whole = readFileSync(binary)
    for (let at = 4; at < 64; at++) {
      for (const value of [0, 1, 0x7f, 0xff]) {
        const file = changed(() => Buffer.concat([whole.subarray(0, at), Buffer.of(value), whole.subarray(at + 1)]))
        try {
          checkWhole(file, 'linux')
        } catch (error) {
          expect((error as Error).message).toMatch(/ is damaged: | is no binary for Linux$/)
        }
      }
    }
  })

  it('is damaged where it has a hole; the blocks of a file that is stored in full are not looked at', () => {
    const bytes = readFileSync(binary)
    const told = / is damaged: its 4096 bytes from 1003520 on are zeros$/
    const stored = changed(() => Buffer.concat([bytes.subarray(0, 1_003_520), Buffer.alloc(4096), bytes.subarray(1_007_616)]))
    expect(() => checkBlocks(stored)).toThrow(told)
    expect(() => checkHoles(stored)).not.toThrow()
    const file = openSync(stored, 'w')
    writeSync(file, bytes, 0, 1_003_520, 0)
    writeSync(file, bytes, 1_007_616, bytes.length - 1_007_616, 1_007_616)
    closeSync(file)
    expect(() => checkHoles(stored)).toThrow(told)
  })
})

describe('a binary for macOS', () => {
  /** One segment of 4096 bytes, and the bytes that it has. */
  function machO(length: number, commandLength = 72): Buffer {
    const file = Buffer.alloc(length, 1)
    file.writeUInt32LE(0xfeedfacf, 0)
    file.writeUInt32LE(1, 16)
    file.writeUInt32LE(72, 20)
    file.writeUInt32LE(0x19, 32)
    file.writeUInt32LE(commandLength, 36)
    file.writeBigUInt64LE(0n, 32 + 40)
    file.writeBigUInt64LE(4096n, 32 + 48)
    return file
  }

  it('is whole when it has the bytes of each segment', () => {
    expect(() => checkWhole(changed(() => machO(4096)), 'darwin')).not.toThrow()
  })

  it('is damaged when a segment ends beyond it, or its load commands do not fit together', () => {
    expect(() => checkWhole(changed(() => machO(4095)), 'darwin')).toThrow(/ is damaged: it has 4095 bytes, of at least 4096$/)
    expect(() => checkWhole(changed(() => machO(4096).subarray(0, 100)), 'darwin')).toThrow(/ is damaged: it has 100 bytes, of at least 104$/)
    for (const length of [0, 73]) expect(() => checkWhole(changed(() => machO(4096, length)), 'darwin')).toThrow(/ is damaged: its load commands are cut off$/)
  })

  it('is none when it is a text', () => {
    expect(() => checkWhole('README.md', 'darwin')).toThrow('README.md is no binary for macOS')
  })
})
