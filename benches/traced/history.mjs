// Run under strace: one record after the other appended to a history in the folder given, each between marks.

import { accessSync, mkdirSync } from 'node:fs'
import { appendDurableHistoryRecord } from '../../index.js'
import { historyOptions, historyRecord } from '../cases/history.mjs'
import { MARK } from '../strace.mjs'

const dir = process.argv[2]
mkdirSync(dir, { recursive: true })
for (let round = 0; round <= 50; round++) {
  try {
    accessSync(MARK)
  } catch {
    // It is never there.
  }
  appendDurableHistoryRecord(`${dir}/history`, historyRecord, historyOptions)
}
process.stdout.write(String(process.pid))
