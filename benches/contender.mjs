// One of several processes that contend for one lock: node contender.mjs KIND DIR. Each line of standard input is a time in
// milliseconds: contend that long, and write how often the lock was had and the processor time that it took, in microseconds.

import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { leaseInput } from './cases/lease.mjs'
import { packaged } from './packages.mjs'

const [kind, dir] = process.argv.slice(2)
const locked = kind === 'ours' ? await ours() : await properLockfile()
console.log('ready')

for await (const line of createInterface({ input: process.stdin })) {
  const [wait, contend] = line.split(' ').map(Number)
  await pause(wait - Date.now())
  const end = wait + contend
  const before = process.cpuUsage()
  let had = 0
  while (Date.now() < end) {
    const release = await locked(end)
    if (release === null) break
    had++
    await release()
  }
  const { user, system } = process.cpuUsage(before)
  console.log(`${had} ${user + system}`)
}

async function ours() {
  const { acquireNoClobberLeaseAsync } = await import('../index.js')
  const input = leaseInput(dir)
  return async (end) => {
    try {
      const lease = await acquireNoClobberLeaseAsync({ ...input, waitMs: Math.max(1, end - Date.now()) })
      return () => lease.release()
    } catch (error) {
      if (['LEASE_HELD', 'LEASE_RECOVERING'].includes(error.code)) return null
      throw error
    }
  }
}

async function properLockfile() {
  const { lock } = await packaged('proper-lockfile')
  const file = path.join(dir, 'file')
  return async (end) => {
    const retries = { retries: Math.ceil((end - Date.now()) / 5), factor: 1, minTimeout: 5, maxTimeout: 5 }
    try {
      return await lock(file, { realpath: false, retries })
    } catch (error) {
      if (error.code === 'ELOCKED') return null
      throw error
    }
  }
}
