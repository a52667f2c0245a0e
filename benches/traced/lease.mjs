// Run under strace: lease after lease in the folder given, each between marks.

import { accessSync, mkdirSync } from 'node:fs'
import { acquireNoClobberLease } from '../../index.js'
import { leaseInput } from '../cases/lease.mjs'
import { MARK } from '../strace.mjs'

const dir = process.argv[2]
mkdirSync(dir, { recursive: true })
const input = leaseInput(dir)
for (let round = 0; round <= 50; round++) {
  try {
    accessSync(MARK)
  } catch {
    // It is never there.
  }
  acquireNoClobberLease(input).release()
}
process.stdout.write(String(process.pid))
