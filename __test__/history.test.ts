import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, vi } from 'vitest'
import {
  HARNERY_DURABLE_HISTORY_SCHEMA,
  appendCrashSafeJsonlFile,
  appendDurableHistoryRecord,
  appendDurableHistoryRecords,
  appendSegmentedJsonlFile,
  durableHistoryPaths,
  inspectDurableHistoryLease,
  readCrashSafeJsonlFile,
  readDurableHistorySync,
  readSegmentedJsonlFileSync,
  repairDurableHistory,
  rewriteCrashSafeJsonlFile,
  streamDurableHistory,
  updateCrashSafeJsonlFile,
} from '../index.js'
import type { DurableHistoryFaultBoundary } from '../index.js'
import { all, scratch, thrownBy } from './support/scratch.js'

const limits = { max_record_bytes: 256, max_segment_bytes: 256 }
const reading = { max_record_bytes: 4096 }

describe('an append', () => {
  it('returns the receipt of one synced record', () => {
    const dir = path.join(scratch(), 'home')
    expect(appendDurableHistoryRecord(dir, { sequence: 1 }, limits)).toStrictEqual({
      schema: 'harnery.durable-history/v1',
      segment: 'active',
      record_bytes: 15,
      rotated: false,
      synced: true,
    })
    expect(HARNERY_DURABLE_HISTORY_SCHEMA).toBe('harnery.durable-history/v1')
    expect(readFileSync(path.join(dir, 'active.jsonl'), 'utf8')).toBe('{"sequence":1}\n')
    expect(readdirSync(dir)).toEqual(['active.jsonl'])
  })

  it('rotates without a ceiling for the whole history', async () => {
    const dir = scratch()
    const records = Array.from({ length: 40 }, (_, sequence) => ({ sequence, body: 'x'.repeat(30) }))
    for (const record of records) appendDurableHistoryRecord(dir, record, limits)
    expect(readDurableHistorySync(dir, reading)).toEqual(records)
    expect(await all(streamDurableHistory(dir, reading))).toEqual(records)
    expect(existsSync(path.join(dir, 'segments', '00000001.jsonl'))).toBe(true)
    const paths = durableHistoryPaths(dir)
    expect(paths[0]).toBe(path.join(dir, 'segments', '00000001.jsonl'))
    expect(paths.at(-1)).toBe(path.join(dir, 'active.jsonl'))
  })

  it('of several records takes one lease and returns one receipt', () => {
    const dir = scratch()
    const records = Array.from({ length: 40 }, (_, n) => ({ n, body: 'x'.repeat(n) }))
    const receipt = appendDurableHistoryRecords(dir, records, limits)
    const bytes = records.reduce((sum, record) => sum + JSON.stringify(record).length + 1, 0)
    expect(receipt).toStrictEqual({
      schema: HARNERY_DURABLE_HISTORY_SCHEMA,
      segment: 'active',
      record_bytes: bytes,
      rotated: true,
      synced: true,
      records: 40,
    })
    expect(readDurableHistorySync(dir, reading)).toEqual(records)
  })

  it('keeps the name of a file that is sealed beside itself', () => {
    const file = path.join(scratch(), 'events.jsonl')
    for (let n = 0; n < 20; n++) appendSegmentedJsonlFile(file, { n, body: 'x'.repeat(40) }, limits)
    expect(readSegmentedJsonlFileSync(file, reading)).toHaveLength(20)
    expect(existsSync(file)).toBe(true)
    expect(readdirSync(`${file}.segments`)[0]).toBe('00000001.jsonl')
  })

  it('to a single file returns the bytes that it took', () => {
    const file = path.join(scratch(), 'x.jsonl')
    expect(appendCrashSafeJsonlFile(file, 'é', 64)).toBe(5)
    expect(appendCrashSafeJsonlFile(file, [1, undefined], 64)).toBe(9)
    expect(readCrashSafeJsonlFile(file, reading)).toEqual(['é', [1, null]])
  })

  it('h1 keeps any text: line feeds, separators, NUL, lone surrogates', async () => {
    const dir = scratch()
    const records = ['a\nb\r\n', '\u2028\u2029\u0085', '\0', '\ud800', '\udfff\ud800x', '😀', '__proto__', { ['__proto__']: 1 }, null, 1e21, -0]
    for (const record of records) appendDurableHistoryRecord(dir, record, limits)
    const expected = records.map((record) => JSON.parse(JSON.stringify(record)))
    expect(readDurableHistorySync(dir, reading)).toStrictEqual(expected)
    expect(await all(streamDurableHistory(dir, reading))).toStrictEqual(expected)
  })

  it.each([[undefined], [() => 1], [Symbol('s')]])('of %s is a TypeError before anything is made', (record) => {
    const dir = path.join(scratch(), 'home')
    const append = () => appendDurableHistoryRecord(dir, record, limits)
    expect(append).toThrow(TypeError)
    expect(append).toThrow(/^record must be a value that JSON can hold/)
    expect(existsSync(dir)).toBe(false)
  })

  it('throws what a toJSON throws, and the same value', () => {
    const thrown = { odd: true }
    const record = { toJSON: () => { throw thrown } }
    expect(thrownBy(() => appendDurableHistoryRecord(scratch(), record, limits))).toBe(thrown)
  })

  it('over its limit is refused with the harness’s words', () => {
    const dir = path.join(scratch(), 'home')
    const append = () => appendDurableHistoryRecord(dir, 'x'.repeat(255), limits)
    expect(append).toThrow('durable history record exceeds 256 bytes')
    expect(append).toThrow(expect.objectContaining({ code: 'HISTORY_RECORD_TOO_LARGE' }))
    expect(existsSync(dir)).toBe(false)
  })

  it('takes limits that a record fits into', () => {
    const append = (options: object) => () => appendDurableHistoryRecord(scratch(), 1, options as typeof limits)
    for (const max of [1, 0, -1, 2.5, Number.NaN, 2 ** 53]) {
      expect(append({ max_record_bytes: max, max_segment_bytes: 256 })).toThrow('max_segment_bytes must be a safe integer at least max_record_bytes')
    }
    expect(append({ max_record_bytes: 256, max_segment_bytes: 255 })).toThrow(expect.objectContaining({ code: 'HISTORY_INPUT' }))
    expect(append({ max_record_bytes: '256' })).toThrow('options.max_record_bytes must be a number, not a string')
    expect(append({ ...limits, fault: 1 })).toThrow('options.fault must be a function, not a number')
    expect(append({ ...limits, leaseWaitMs: -1 })).toThrow(RangeError)
    expect(() => appendCrashSafeJsonlFile(path.join(scratch(), 'x'), 1, 1)).toThrow('max_record_bytes must be a positive safe integer')
  })

  it('resolves a relative path, and names it as it was given', () => {
    const root = scratch()
    const home = process.cwd()
    try {
      process.chdir(root)
      appendDurableHistoryRecord('a/../b', 1, limits)
      expect(durableHistoryPaths('./b')).toEqual([path.join('b', 'active.jsonl')])
    } finally {
      process.chdir(home)
    }
    expect(readDurableHistorySync(path.join(root, 'b'), reading)).toEqual([1])
  })
})

describe('the seams', () => {
  it('are called at each boundary, in order, as members of the options', () => {
    const dir = scratch()
    const seen: unknown[] = []
    const options = { ...limits, fault(this: unknown, boundary: DurableHistoryFaultBoundary) { seen.push(this === options, boundary) } }
    appendDurableHistoryRecord(dir, 'x'.repeat(200), options)
    appendDurableHistoryRecord(dir, 'y'.repeat(200), options)
    const once = [true, 'before_append', true, 'after_append_before_sync']
    expect(seen).toEqual([...once, true, 'after_segment_rename', ...once])
  })

  it('leave the call with the very same value, the sealed prefix kept and the lease given back', () => {
    const dir = scratch()
    const thrown = new Error('kill')
    const fault = (boundary: string) => { if (boundary === 'after_segment_rename') throw thrown }
    appendDurableHistoryRecord(dir, 'x'.repeat(200), limits)
    expect(thrownBy(() => appendDurableHistoryRecord(dir, 'y'.repeat(200), { ...limits, fault }))).toBe(thrown)
    expect(readDurableHistorySync(dir, reading)).toEqual(['x'.repeat(200)])
    expect(readdirSync(dir)).toEqual(['segments'])
  })

  it('write_sync may write a few bytes at a time', () => {
    const dir = scratch()
    const calls: number[] = []
    const write_sync = (fd: number, buffer: Buffer, offset: number, length: number) => {
      calls.push(offset, length)
      return writeSync(fd, buffer, offset, Math.min(length, 9))
    }
    appendDurableHistoryRecord(dir, { id: 1 }, limits)
    expect(appendDurableHistoryRecord(dir, { id: 'short-write' }, { ...limits, write_sync }).synced).toBe(true)
    expect(calls).toEqual([0, 21, 9, 12, 18, 3])
    expect(readDurableHistorySync(dir, reading)).toEqual([{ id: 1 }, { id: 'short-write' }])
  })

  it.each([0, -1, 1.5, Number.NaN, 1e9, undefined, '3'])('write_sync that answers %s made no progress', (answer) => {
    const dir = scratch()
    appendDurableHistoryRecord(dir, 1, limits)
    const write_sync = (() => answer) as () => number
    const append = () => appendDurableHistoryRecord(dir, 2, { ...limits, write_sync })
    expect(append).toThrow('durable history write made no forward progress')
    expect(append).toThrow(expect.objectContaining({ code: 'HISTORY_NO_PROGRESS' }))
    expect(readFileSync(path.join(dir, 'active.jsonl'), 'utf8')).toBe('1\n')
  })

  it('h3 a disk that fills in the middle of a record leaves the file as long as before', () => {
    const dir = scratch()
    appendDurableHistoryRecord(dir, 1, limits)
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    const write_sync = (fd: number, buffer: Buffer, offset: number) => {
      if (offset > 0) throw full
      return writeSync(fd, buffer, offset, 2)
    }
    expect(thrownBy(() => appendDurableHistoryRecord(dir, 'record', { ...limits, write_sync }))).toBe(full)
    expect(readFileSync(path.join(dir, 'active.jsonl'), 'utf8')).toBe('1\n')
    appendDurableHistoryRecord(dir, 2, limits)
    expect(readDurableHistorySync(dir, reading)).toEqual([1, 2])
  })

  it('may call back into the addon', () => {
    const dir = scratch()
    const fault = vi.fn(() => {
      expect(() => appendDurableHistoryRecord(dir, 2, limits)).toThrow(`durable history lease busy: ${path.join(dir, '.append.lease')}`)
      expect(inspectDurableHistoryLease(dir)[0]?.state).toBe('held')
    })
    appendDurableHistoryRecord(dir, 1, { ...limits, fault })
    expect(fault).toHaveBeenCalledTimes(2)
  })
})

describe('an update', () => {
  it('reads, decides and appends under one lease', () => {
    const file = path.join(scratch(), 'x.jsonl')
    const count = (limit: number) => updateCrashSafeJsonlFile(file, reading, (records: readonly number[]) => {
      expect(() => appendCrashSafeJsonlFile(file, 0, 64)).toThrow(expect.objectContaining({ code: 'HISTORY_BUSY' }))
      return records.length < limit ? { append: [records.length, 'more'], result: { wrote: true } } : { result: null }
    })
    expect(count(2)).toEqual({ wrote: true })
    expect(count(2)).toBeNull()
    expect(readCrashSafeJsonlFile(file, reading)).toEqual([0, 'more'])
  })

  it('that is asynchronous is refused, and appends nothing', async () => {
    const file = path.join(scratch(), 'x.jsonl')
    const update = async () => ({ append: [1], result: 1 })
    const refused = thrownBy(() => updateCrashSafeJsonlFile(file, reading, update as never))
    expect(refused).toBeInstanceOf(TypeError)
    expect(refused).toMatchObject({
      code: 'ERR_INVALID_ARG_TYPE',
      message: 'update() must be synchronous: nothing waits for the promise that it returned',
    })
    expect(readCrashSafeJsonlFile(file, reading)).toEqual([])
    appendCrashSafeJsonlFile(file, 2, 64)
  })

  it('that throws appends nothing and gives the lease back', () => {
    const file = path.join(scratch(), 'x.jsonl')
    appendCrashSafeJsonlFile(file, 1, 64)
    const thrown = Symbol('thrown')
    expect(thrownBy(() => updateCrashSafeJsonlFile(file, reading, () => { throw thrown }))).toBe(thrown)
    expect(() => updateCrashSafeJsonlFile(file, reading, () => 1 as never)).toThrow('update() must be an object')
    expect(() => updateCrashSafeJsonlFile(file, reading, () => ({ append: [1, undefined], result: 1 }))).toThrow('update().append[1] must be a value that JSON can hold')
    expect(() => updateCrashSafeJsonlFile(file, reading, () => ({ append: ['x'.repeat(5000)], result: 1 }))).toThrow('durable history record exceeds 4096 bytes')
    appendCrashSafeJsonlFile(file, 2, 64)
    expect(readCrashSafeJsonlFile(file, reading)).toEqual([1, 2])
  })
})

describe('a rewrite', () => {
  it('publishes the prior or the complete replacement', async () => {
    const file = path.join(scratch(), 'x.jsonl')
    await expect(rewriteCrashSafeJsonlFile(file, [{ id: 'one' }], 256)).resolves.toBeUndefined()
    const thrown = new Error('kill')
    const fault = (boundary: string) => { if (boundary === 'after_rewrite_temp_sync') throw thrown }
    await expect(rewriteCrashSafeJsonlFile(file, [{ id: 'two' }], 256, fault)).rejects.toBe(thrown)
    expect(readFileSync(file, 'utf8')).toBe('{"id":"one"}\n')
    await rewriteCrashSafeJsonlFile(file, [1, 2], 256)
    expect(readCrashSafeJsonlFile(file, reading)).toEqual([1, 2])
    expect(readdirSync(path.dirname(file))).toEqual(['x.jsonl'])
  })

  it('rejects, and does not throw, for wrong arguments', async () => {
    await expect(rewriteCrashSafeJsonlFile(1 as unknown as string, [], 256)).rejects.toThrow(TypeError)
    await expect(rewriteCrashSafeJsonlFile('x', {} as never, 256)).rejects.toThrow('records must be an array')
    await expect(rewriteCrashSafeJsonlFile('x', [], 1)).rejects.toThrow(expect.objectContaining({ code: 'HISTORY_INPUT' }))
  })

  it('waits for the lease without holding up the event loop', async () => {
    const dir = scratch()
    const file = path.join(dir, 'x.jsonl')
    const lease = `${file}.lease`
    mkdirSync(lease)
    writeFileSync(path.join(lease, 'owner.json'), `${JSON.stringify({ owner_id: 'a', pid: process.pid, acquired_at: new Date().toISOString() })}\n`)
    const rewriting = rewriteCrashSafeJsonlFile(file, [1], 256, undefined, { leaseWaitMs: 60_000 })
    await new Promise(setImmediate)
    expect(existsSync(file)).toBe(false)
    rmSync(lease, { recursive: true })
    await rewriting
    expect(readCrashSafeJsonlFile(file, reading)).toEqual([1])
    await expect(rewriteCrashSafeJsonlFile(file, [2], 256, undefined, { leaseWaitMs: 0 })).resolves.toBeUndefined()
  })
})

it('a rewrite of a worker that ends while it takes over leaves the history to others', async () => {
  const file = path.join(scratch(), 'x.jsonl')
  mkdirSync(`${file}.lease`)
  writeFileSync(path.join(`${file}.lease`, 'owner.json'), `${JSON.stringify({ owner_id: 'crashed-owner', pid: 2_147_483_647, acquired_at: '2000-01-01T00:00:00.000Z' })}\n`)
  const script = `
    const { parentPort, workerData } = require('node:worker_threads')
    require(workerData.addon).rewriteCrashSafeJsonlFile(workerData.file, [1], 256)
    parentPort.postMessage('taking over')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`
  const worker = new Worker(script, { eval: true, workerData: { addon: path.resolve('index.js'), file } })
  await new Promise((resolve) => worker.once('message', resolve))
  expect(JSON.parse(readFileSync(path.join(`${file}.lease`, 'owner.json'), 'utf8')).pid).toBe(process.pid)
  await worker.terminate()
  expect(readdirSync(path.dirname(file))).toEqual([])
})

describe('s1 a symbolic link', () => {
  it.each(['home', 'home/active.jsonl', 'home/.append.lease', 'home/segments'])('at %s is refused', async (name) => {
    const root = scratch()
    const outside = scratch()
    writeFileSync(path.join(outside, 'outside.jsonl'), '{"id":"outside"}\n')
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    symlinkSync(name.endsWith('.jsonl') ? path.join(outside, 'outside.jsonl') : outside, path.join(root, name))
    const home = path.join(root, 'home')
    const message = `durable history rejects symlink: ${path.join(root, name)}`
    if (name === 'home/segments') {
      writeFileSync(path.join(home, 'active.jsonl'), `"${'x'.repeat(200)}"\n`)
    }
    expect(() => appendDurableHistoryRecord(home, 'y'.repeat(200), limits)).toThrow(expect.objectContaining({ message, code: 'HISTORY_SYMLINK' }))
    if (name !== 'home/.append.lease') {
      expect(() => readDurableHistorySync(home, reading)).toThrow(message)
      await expect(all(streamDurableHistory(home, reading))).rejects.toThrow(message)
    }
    expect(readdirSync(outside)).toEqual(['outside.jsonl'])
    expect(readFileSync(path.join(outside, 'outside.jsonl'), 'utf8')).toBe('{"id":"outside"}\n')
  })
})

describe('leases of the harness', () => {
  const owner = (more: object) => `${JSON.stringify({ owner_id: 'crashed-owner', pid: 2_147_483_647, acquired_at: '2000-01-01T00:00:00.000Z', ...more })}\n`

  it('are recovered only when they are owner-bound and stale', () => {
    const recovered = scratch()
    mkdirSync(path.join(recovered, '.append.lease'))
    writeFileSync(path.join(recovered, '.append.lease', 'owner.json'), owner({}))
    expect(inspectDurableHistoryLease(recovered)[0]?.state).toBe('stale')
    expect(appendDurableHistoryRecord(recovered, { id: 'recovered' }, limits).synced).toBe(true)

    const now = new Date().toISOString()
    const blocking: [object, string][] = [
      [{ owner_id: undefined }, 'its owner.json cannot be read; repairDurableHistory moves it aside'],
      [{ acquired_at: now }, `process 2147483647 has it since ${now}; once that process is gone and 30 s are over`],
      [{ pid: process.pid }, `process ${process.pid} has it since 2000-01-01T00:00:00.000Z`],
      [{ pid: 0 }, 'process 0 has it since 2000-01-01T00:00:00.000Z'],
    ]
    for (const [more, why] of blocking) {
      const blocked = scratch()
      const lease = path.join(blocked, '.append.lease')
      mkdirSync(lease)
      writeFileSync(path.join(lease, 'owner.json'), owner(more))
      const refused = thrownBy(() => appendDurableHistoryRecord(blocked, 1, limits)) as Error
      expect(refused).toMatchObject({ code: 'HISTORY_BUSY' })
      expect(refused.message.startsWith(`durable history lease busy: ${lease}; ${why}`), refused.message).toBe(true)
    }
    const empty = scratch()
    mkdirSync(path.join(empty, '.append.lease'))
    expect(() => appendDurableHistoryRecord(empty, 1, limits)).toThrow('it has no owner.json; in 5 s it is anybody')
  })

  it('find this addon’s own as the harness reads it', () => {
    const dir = scratch()
    const fault = () => {
      const read = JSON.parse(readFileSync(path.join(dir, '.append.lease', 'owner.json'), 'utf8'))
      expect(Object.keys(read).slice(0, 3)).toEqual(['owner_id', 'pid', 'acquired_at'])
      expect(read.pid).toBe(process.pid)
      expect(Math.abs(Date.now() - Date.parse(read.acquired_at))).toBeLessThan(10_000)
    }
    appendDurableHistoryRecord(dir, 1, { ...limits, fault })
  })
})
