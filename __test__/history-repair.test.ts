import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  appendDurableHistoryRecord,
  inspectDurableHistoryLease,
  readDurableHistorySync,
  repairDurableHistory,
} from '../index.js'
import { scratch } from './support/scratch.js'

const limits = { max_record_bytes: 256, max_segment_bytes: 256 }
const reading = { max_record_bytes: 4096 }

describe('a repair', () => {
  it('moves a torn tail aside', () => {
    const dir = scratch()
    writeFileSync(path.join(dir, 'active.jsonl'), '1\n{"half":')
    const repaired = repairDurableHistory(dir)
    expect(repaired).toStrictEqual({
      file: path.join(dir, 'active.jsonl'),
      bytes_removed: 8,
      quarantined_to: expect.stringMatching(/active\.jsonl\.torn-\d{4}-/),
    })
    expect(readFileSync(repaired?.quarantined_to as string, 'utf8')).toBe('{"half":')
    expect(repairDurableHistory(dir)).toBeNull()
    appendDurableHistoryRecord(dir, 2, limits)
    expect(readDurableHistorySync(dir, reading)).toEqual([1, 2])
  })

  it('moves a torn tail of any size in bounded memory', () => {
    const file = path.join(scratch(), 'x.jsonl')
    writeFileSync(file, '1\n{"half":')
    truncateSync(file, 200 * 2 ** 20)
    const script = `
      const { repairDurableHistory } = require('./index.js')
      const before = process.resourceUsage().maxRSS
      repairDurableHistory(process.argv[1])
      process.stdout.write(String((process.resourceUsage().maxRSS - before) / 1024))
    `
    const grown = Number(execFileSync(process.execPath, ['-e', script, file], { encoding: 'utf8', cwd: fileURLToPath(new URL('..', import.meta.url)) }))
    expect(grown).toBeLessThan(32)
    expect(readFileSync(file, 'utf8')).toBe('1\n')
  })

  it('moves a torn lease aside on somebody’s word', () => {
    const file = path.join(scratch(), 'x.jsonl')
    mkdirSync(`${file}.lease`)
    writeFileSync(`${file}.lease/owner.json`, '{"own')
    const [single, segmented] = inspectDurableHistoryLease(file)
    expect(single).toMatchObject({ path: `${file}.lease`, state: 'torn' })
    expect(segmented).toMatchObject({ path: `${file}.segment.lease`, state: 'free' })
    const lease = { digest: single?.digest as string, actor: 'op', reason: 'its writer was killed' }
    expect(() => repairDurableHistory(file, { lease })).toThrow(expect.objectContaining({ code: 'HISTORY_REPAIR', message: expect.stringContaining('was changed less than 30 s ago') }))
    expect(() => repairDurableHistory(file, { lease: { ...lease, digest: '0'.repeat(64) } })).toThrow('look at it again')
    expect(() => repairDurableHistory(file, { lease: { digest: lease.digest } as never })).toThrow('options.lease.actor must be a string')
    expect(readFileSync(`${file}.lease/owner.json`, 'utf8')).toBe('{"own')
  })
})
