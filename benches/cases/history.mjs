// Histories: an append against its own writes and syncs, made by a Rust program; a read against JSON.parse by line.

import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { bare, counting } from '../bare.mjs'
import { calls } from '../calls.mjs'
import { timed } from '../harness.mjs'
import { onDisk, onMemory } from '../places.mjs'
import { shape } from '../strace.mjs'

const MEGABYTES = 100

export const historyOptions = { max_record_bytes: 4096, max_segment_bytes: 2 ** 40 }
/** A line of 1 KB. */
export const historyRecord = { id: 'event-1', body: 'x'.repeat(999) }

export default [
  {
    name: 'history/append-1k',
    what: 'appendDurableHistoryRecord of 1 KB on a disk, against the bare write and sync and what its lease writes and syncs',
    limit: { ratio: 1.2 },
    samples: 12,
    async setup() {
      const { appendDurableHistoryRecord } = await import('../../index.js')
      const dir = onDisk()
      const { list: all, notes } = calls('history', dir, 'appendDurableHistoryRecord of 1 KB, warm')
      const list = writesAndSyncs(all)
      writeFileSync(path.join(dir, 'calls'), list)
      // What the program writes is no history: it has a place of its own.
      mkdirSync(path.join(dir, 'bare', 'history'), { recursive: true })
      const replay = bare('calls', path.join(dir, 'calls'), path.join(dir, 'bare'))
      return {
        ours: timed(() => appendDurableHistoryRecord(path.join(dir, 'history'), historyRecord, historyOptions)),
        reference: counting(replay),
        notes: [...notes, `${shape(all).length} system calls, of which the reference makes ${shape(list).length}: those that change or sync something`],
        end() {
          replay.end()
          rmSync(dir, { recursive: true })
        },
      }
    },
  },
  {
    name: 'history/append-1k-batch',
    what: 'appendDurableHistoryRecords of 100 records of 1 KB on a disk, against 100 single appends',
    limit: { ratio: 1 / 10 },
    samples: 6,
    rounds: 1,
    async setup() {
      const { appendDurableHistoryRecord, appendDurableHistoryRecords } = await import('../../index.js')
      const dir = onDisk()
      const records = Array.from({ length: 100 }, () => historyRecord)
      return {
        ours: timed(() => appendDurableHistoryRecords(path.join(dir, 'batch'), records, historyOptions)),
        reference: timed(() => records.forEach((one) => appendDurableHistoryRecord(path.join(dir, 'single'), one, historyOptions))),
        end: () => rmSync(dir, { recursive: true }),
      }
    },
  },
  {
    name: 'history/read-100mb',
    what: `readDurableHistorySync of ${MEGABYTES} MB, against readFileSync and JSON.parse of each line`,
    limit: { ratio: 1 / 3 },
    samples: 6,
    rounds: 1,
    async setup() {
      const { readDurableHistorySync } = await import('../../index.js')
      const dir = onMemory()
      const file = path.join(dir, 'active.jsonl')
      fill(file)
      return {
        ours: timed(() => readDurableHistorySync(dir, { max_record_bytes: 4096 })),
        reference: timed(() => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line))),
        end: () => rmSync(dir, { recursive: true }),
      }
    },
  },
]

/** The calls that change or sync something, with what they need to be made at all. */
function writesAndSyncs(list) {
  const kept = new Set(['openat', 'mkdirat', 'pwrite64', 'fsync', 'renameat', 'renameat2', 'unlinkat', 'close'])
  const lines = list.split('\n').filter((line) => !line || line.startsWith('have') || (kept.has(line.split(' ')[0]) && !line.includes('= -')))
  return lines.join('\n')
}

function fill(file) {
  mkdirSync(path.dirname(file), { recursive: true })
  const to = openSync(file, 'w')
  for (let written = 0, number = 0; written < MEGABYTES * 2 ** 20; ) {
    let block = ''
    for (let line = 0; line < 1000; line++, number++) block += `${JSON.stringify(event(number))}\n`
    written += writeSync(to, block)
  }
  closeSync(to)
}

function event(number) {
  return {
    schema_version: 1,
    id: `event-${number}`,
    at: new Date(1.7e12 + number).toISOString(),
    kind: 'tool.call',
    agent: { id: `agent-${number % 17}`, name: 'worker' },
    payload: { path: `/home/user/project/src/file-${number}.ts`, bytes: number * 37, ok: number % 3 === 0, tags: ['one', 'two', 'three'], text: 'the quick brown fox jumps over the lazy dog '.repeat(number % 20) },
  }
}
