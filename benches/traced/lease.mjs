// Run under strace: lease after lease in the folder given, with the durability given, each between marks.

import { mkdirSync } from 'node:fs'
import { acquireNoClobberLease } from '../../index.js'
import { leaseInput } from '../cases/lease.mjs'
import { traced } from '../strace.mjs'

const [dir, durability] = process.argv.slice(2)
mkdirSync(dir, { recursive: true })
const input = leaseInput(dir, durability)
traced(() => acquireNoClobberLease(input).release())
