// node examples/history.mjs: four processes append to one history, one of them is killed in the middle of a record, the
// torn line is moved aside, and everything that was acknowledged is read back. Ends with 1 if any step is not so.

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  appendDurableHistoryRecord,
  inspectDurableHistoryLease,
  readDurableHistorySync,
  repairDurableHistory,
  streamDurableHistory,
} from '../index.js'

const RECORDS = 25
const limits = { max_record_bytes: 4096, max_segment_bytes: 16384 }
const [, , role, dir = mkdtempSync(path.join(tmpdir(), 'history-example-'))] = process.argv

if (role === undefined) await show()
else write(Number(role))

/** One of the four: it waits for the others at most five seconds, and is killed when it is told to be. */
function write(writer) {
  for (let number = 1; number <= RECORDS; number++) {
    appendDurableHistoryRecord(dir, { writer, number, body: '.'.repeat(number * 40) }, { ...limits, leaseWaitMs: 5000 })
  }
  process.send('done')
  process.on('message', () => {
    const write_sync = (fd, buffer, offset, length) => {
      writeSync(fd, buffer, offset, Math.ceil(length / 2))
      process.kill(process.pid, 'SIGKILL')
    }
    appendDurableHistoryRecord(dir, { writer, number: RECORDS + 1 }, { ...limits, write_sync })
  })
}

async function show() {
  const writers = [1, 2, 3, 4].map((writer) => fork(fileURLToPath(import.meta.url), [String(writer), dir]))
  try {
    await Promise.all(writers.map((writer) => once(writer, 'message')))
    console.log(`four processes have appended ${RECORDS} records each`)

    const [killed, ...others] = writers
    killed.send('go on')
    const [, signal] = await once(killed, 'exit')
    console.log(`one was ended by ${signal} in the middle of its next record`)
    assert.equal(signal, 'SIGKILL')

    refused(() => readDurableHistorySync(dir, limits), 'HISTORY_PARTIAL')
    refused(() => appendDurableHistoryRecord(dir, { writer: 0 }, limits), 'HISTORY_BUSY')

    // The lease of a dead process is taken over once it is 30 seconds old. Here it is made old instead of waited for.
    const [lease] = inspectDurableHistoryLease(dir)
    const file = path.join(lease.path, 'owner.json')
    const owner = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, `${JSON.stringify({ ...owner, acquired_at: new Date(Date.now() - 60_000).toISOString() })}\n`)
    console.log(`the lease was ${lease.state}, and is ${inspectDurableHistoryLease(dir)[0].state} half a minute later`)

    const repaired = repairDurableHistory(dir)
    const torn = readFileSync(repaired.quarantined_to, 'utf8')
    console.log(`moved ${repaired.bytes_removed} bytes aside: ${torn}`)
    assert.equal(torn.length, repaired.bytes_removed)
    assert.equal(repairDurableHistory(dir), null)

    appendDurableHistoryRecord(dir, { writer: 0, number: 1 }, limits)
    const next = new Map()
    let records = 0
    for await (const { writer, number } of streamDurableHistory(dir, limits)) {
      const expected = (next.get(writer) ?? 0) + 1
      assert.equal(number, expected, `record ${expected} of writer ${writer}`)
      next.set(writer, expected)
      records++
    }
    assert.equal(records, 4 * RECORDS + 1)
    console.log(`read ${records} whole records, each writer's in its order`)
    await Promise.all(others.map((writer) => end(writer)))
  } finally {
    for (const writer of writers) writer.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
}

function refused(work, code) {
  assert.throws(work, (error) => {
    console.log(`refused: ${error.message}`)
    return error.code === code
  })
}

function end(writer) {
  const ended = once(writer, 'exit')
  writer.kill()
  return ended
}
