// Run under strace: one record after the other appended to a history in the folder given, each between marks.

import { mkdirSync } from 'node:fs'
import { appendDurableHistoryRecord } from '../../index.js'
import { historyOptions, historyRecord } from '../cases/history.mjs'
import { traced } from '../strace.mjs'

const dir = process.argv[2]
mkdirSync(dir, { recursive: true })
traced(() => appendDurableHistoryRecord(`${dir}/history`, historyRecord, historyOptions))
