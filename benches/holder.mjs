// Holds a lease and lets it go when told: node holder.mjs DIR. Answers `take` once it has it, and `release` with the
// monotonic time right before.

import { createInterface } from 'node:readline'
import { acquireNoClobberLease } from '../index.js'
import { leaseInput } from './cases/lease.mjs'

const input = leaseInput(process.argv[2])
let lease
console.log('ready')
for await (const word of createInterface({ input: process.stdin })) {
  if (word === 'take') {
    lease = acquireNoClobberLease(input)
    console.log('taken')
  } else {
    const now = process.hrtime.bigint()
    lease.release()
    console.log(String(now))
  }
}
