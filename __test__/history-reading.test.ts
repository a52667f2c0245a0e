import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  appendDurableHistoryRecord,
  durableHistoryPaths,
  readCrashSafeJsonlFile,
  readDurableHistorySync,
  readSegmentedJsonlFileSync,
  streamDurableHistory,
} from '../index.js'
import { all, scratch } from './support/scratch.js'

afterEach(() => {
  vi.useRealTimers()
})

const limits = { max_record_bytes: 256, max_segment_bytes: 256 }
const reading = { max_record_bytes: 4096 }

describe('a read', () => {
  it('of what is not there is empty', async () => {
    const missing = path.join(scratch(), 'missing')
    expect(readDurableHistorySync(missing, reading)).toEqual([])
    expect(readCrashSafeJsonlFile(path.join(missing, 'x'), reading)).toEqual([])
    expect(readSegmentedJsonlFileSync(path.join(missing, 'x'), reading)).toEqual([])
    expect(durableHistoryPaths(missing)).toEqual([])
    expect(await all(streamDurableHistory(missing, reading))).toEqual([])
    expect(existsSync(missing)).toBe(false)
  })

  it('refuses a torn last line by name, and never returns half a record', async () => {
    const dir = scratch()
    writeFileSync(path.join(dir, 'active.jsonl'), '{"n":1}\n{"n":')
    const message = 'durable history has a partial record: active.jsonl'
    expect(() => readDurableHistorySync(dir, reading)).toThrow(message)
    expect(() => appendDurableHistoryRecord(dir, 2, limits)).toThrow(expect.objectContaining({ message, code: 'HISTORY_PARTIAL' }))
    const stream = streamDurableHistory(dir, reading)
    await expect(all(stream)).rejects.toThrow(message)
  })

  it('keeps to its limits', () => {
    const file = path.join(scratch(), 'x.jsonl')
    writeFileSync(file, '1\n22\n333\n')
    const read = (options: object) => () => readCrashSafeJsonlFile(file, options as typeof reading)
    expect(read({ max_record_bytes: 4, max_records: 3 })()).toEqual([1, 22, 333])
    expect(read({ max_record_bytes: 3 })).toThrow('durable history record exceeds 3 bytes')
    expect(read({ max_record_bytes: 4, max_records: 2 })).toThrow('durable history exceeds 2 records')
    expect(read({ max_record_bytes: 4, max_records: 1.5 })).toThrow('max_records must be a safe integer of at least 0')
    expect(read({})).toThrow('options.max_record_bytes must be a number, not undefined')
  })

  it('names the record that is no JSON, and never joins it with the next', () => {
    const file = path.join(scratch(), 'x.jsonl')
    for (const lines of ['1\n{"a":[1\n2]}\n', '1\n1,2\n', '1\n]\n[\n']) {
      writeFileSync(file, lines)
      expect(() => readCrashSafeJsonlFile(file, reading)).toThrow(/^invalid durable history JSON in x\.jsonl record 2: /)
    }
  })

  it('decodes bytes that are no UTF-8 with replacement', () => {
    const file = path.join(scratch(), 'x.jsonl')
    writeFileSync(file, Buffer.from([0x22, 0xff, 0xe2, 0x82, 0x22, 0x0a]))
    expect(readCrashSafeJsonlFile(file, reading)).toEqual([JSON.parse(readFileSync(file, 'utf8'))])
  })

  it('parses numbers and keys as JSON.parse does', () => {
    const file = path.join(scratch(), 'x.jsonl')
    const texts = ['1e400', '5.0', '{"10":1,"9":2,"a":3,"a":4}', '"\\ud800"', '12345678901234567890', '{"__proto__":{"x":1}}']
    writeFileSync(file, texts.map((text) => `${text}\n`).join(''))
    const records = readCrashSafeJsonlFile<never>(file, reading)
    expect(JSON.stringify(records)).toBe(JSON.stringify(texts.map((text) => JSON.parse(text))))
    expect(Object.keys(records[5] as object)).toEqual(['__proto__'])
  })
})

describe('a stream', () => {
  it('h6 reads 400 MB in bounded memory while the event loop turns', { timeout: 240_000 }, () => {
    const dir = scratch()
    const script = `
      const native = require('./index.js'), fs = require('node:fs')
      const line = JSON.stringify({ body: 'x'.repeat(1012) }) + '\\n', block = line.repeat(1024)
      const file = fs.openSync(${JSON.stringify(path.join(dir, 'active.jsonl'))}, 'w')
      for (let mb = 0; mb < 400; mb++) fs.writeSync(file, block)
      const read = async (limit) => {
        let records = 0, most = 0
        for await (const _ of native.streamDurableHistory(${JSON.stringify(dir)}, { max_record_bytes: 4096 })) {
          if (++records % 10_000 === 0) most = Math.max(most, process.memoryUsage().rss)
          if (records === limit) break
        }
        return { records, most }
      }
      let turns = 0
      setInterval(() => turns++, 1).unref()
      read(40_000).then(async () => {
        gc()
        const before = process.memoryUsage().rss
        const { records, most } = await read()
        console.log(JSON.stringify({ records, grown: (most - before) / 2 ** 20, turns }))
      })`
    return new Promise<void>((resolve, reject) => {
      const root = fileURLToPath(new URL('..', import.meta.url))
      const child = spawn(process.execPath, ['--expose-gc', '-e', script], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
      let text = ''
      child.stdout.on('data', (chunk) => (text += chunk))
      child.on('close', () => {
        try {
          const { records, grown, turns } = JSON.parse(text)
          expect(records).toBe(400 * 1024)
          expect(grown).toBeLessThan(32)
          expect(turns).toBeGreaterThan(50)
          resolve()
        } catch (error) {
          reject(error)
        }
      })
    })
  })

  it('that is left early or fails leaves no file open', async () => {
    const dir = scratch()
    for (let n = 0; n < 100; n++) appendDurableHistoryRecord(dir, 'x'.repeat(200), limits)
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    for await (const _ of streamDurableHistory(dir, reading)) break
    await expect(all(streamDurableHistory(dir, { max_record_bytes: 100 }))).rejects.toThrow('exceeds 100 bytes')
    streamDurableHistory(dir, reading)
    await streamDurableHistory(dir, reading).return(undefined)
    expect(open()).toBe(before)
  })

  it('that nobody goes on with leaves no file open once its iterator is collected', () => {
    const script = `
      const { appendDurableHistoryRecords, streamDurableHistory } = require('./index.js')
      const { readdirSync } = require('node:fs')
      const dir = process.argv[1]
      const options = { max_record_bytes: 100, max_segment_bytes: 1000 }
      const open = () => readdirSync('/proc/self/fd').length
      appendDurableHistoryRecords(dir, [1, 2, 3], options)
      ;(async () => {
        const before = open()
        const kept = streamDurableHistory(dir, options)
        await kept.next()
        const each = open() - before
        for (let n = 0; n < 50; n++) await streamDurableHistory(dir, options).next()
        for (let n = 0; n < 100 && open() > before + each; n++) {
          gc()
          await new Promise(setImmediate)
        }
        const left = open() - before - each
        const rest = []
        for await (const record of kept) rest.push(record)
        console.log(JSON.stringify({ each, left, rest, end: open() - before }))
      })()`
    const root = fileURLToPath(new URL('..', import.meta.url))
    const said = execFileSync(process.execPath, ['--expose-gc', '-e', script, scratch()], { cwd: root, encoding: 'utf8' })
    expect(JSON.parse(said)).toEqual({ each: expect.toSatisfy((files: number) => files > 0), left: 0, rest: [2, 3], end: 0 })
  })

  it('goes on while timers are faked', async () => {
    const dir = scratch()
    appendDurableHistoryRecord(dir, 1, limits)
    vi.useFakeTimers()
    expect(await all(streamDurableHistory(dir, reading))).toEqual([1])
  })

  it('refuses wrong arguments before it is begun', () => {
    expect(() => streamDurableHistory(1 as unknown as string, reading)).toThrow('objectDir must be a string, not a number')
    expect(() => streamDurableHistory(scratch(), { max_record_bytes: 0 })).toThrow('max_record_bytes must be a positive safe integer')
  })

  it('sees what was active when it began, also when that is sealed meanwhile', async () => {
    const dir = scratch()
    const long = (n: number) => `${n}${'x'.repeat(200)}`
    for (const n of [1, 2]) appendDurableHistoryRecord(dir, long(n), limits)
    const stream = streamDurableHistory(dir, reading)
    const seen = [(await stream.next()).value]
    for (const n of [3, 4, 5]) appendDurableHistoryRecord(dir, long(n), limits)
    expect([...seen, ...(await all(stream))]).toEqual([long(1), long(2)])
  })
})
