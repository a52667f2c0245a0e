// Several processes and one lease: how often it is had, who goes without, and how soon a waiter learns that it is free.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { onMemory } from '../places.mjs'
import { leaseInput } from './lease.mjs'

const PROCESSES = 8
const CONTEND_MS = 5000

export default [
  {
    name: 'contention/throughput',
    what: `${PROCESSES} processes that take one lease and let it go, time for each, against proper-lockfile that retries every 5 ms`,
    limit: { ratio: 1 / 4 },
    samples: 2,
    rounds: 1,
    async setup() {
      const dir = onMemory()
      writeFileSync(path.join(dir, 'file'), '')
      const groups = { ours: await group('ours', dir), theirs: await group('proper-lockfile', dir) }
      const notes = []
      return {
        ours: () => contend(groups.ours, 'ours', notes),
        reference: () => contend(groups.theirs, 'proper-lockfile', notes),
        notes,
        async end() {
          await Promise.all([...groups.ours, ...groups.theirs].map(({ end }) => end()))
          rmSync(dir, { recursive: true })
        },
      }
    },
  },
  {
    name: 'contention/fairness',
    what: `of the same: how much more than the one that had it least often the mean had it`,
    limit: { most: 4 },
    async figure() {
      const dir = onMemory()
      const all = await group('ours', dir)
      const counts = (await round(all)).map(({ had }) => had)
      await Promise.all(all.map(({ end }) => end()))
      rmSync(dir, { recursive: true })
      const mean = counts.reduce((sum, had) => sum + had, 0) / counts.length
      return { value: mean / Math.min(...counts), unit: 'times', notes: [`had ${counts.join(', ')} times`] }
    },
  },
  {
    name: 'contention/wake',
    what: 'from the release of a lease, in another process, to the settled promise of who waits for it, against retrying every 5 ms',
    limit: { ms: 2 },
    samples: 40,
    rounds: 1,
    async setup() {
      const { acquireNoClobberLease, acquireNoClobberLeaseAsync } = await import('../../index.js')
      const dir = onMemory()
      const input = leaseInput(dir)
      const holder = await process_('holder.mjs', dir)
      const wake = async (wait) => {
        holder.say('take')
        await holder.line()
        const waiting = wait()
        await pause(20)
        holder.say('release')
        const lease = await waiting
        const woken = process.hrtime.bigint()
        const released = BigInt(await holder.line())
        lease.release()
        return Math.max(1, Number(woken - released))
      }
      const retry = async () => {
        for (;;) {
          try {
            return acquireNoClobberLease(input)
          } catch (error) {
            if (error.code !== 'LEASE_HELD') throw error
            await pause(5)
          }
        }
      }
      return {
        ours: () => wake(() => acquireNoClobberLeaseAsync({ ...input, waitMs: 10_000 })),
        reference: () => wake(retry),
        async end() {
          await holder.end()
          rmSync(dir, { recursive: true })
        },
      }
    },
  },
  {
    name: 'contention/idle',
    what: 'processor time of a waiter in 2 s in which nothing happens',
    limit: { most: 0.5 },
    async figure() {
      const { acquireNoClobberLease, acquireNoClobberLeaseAsync } = await import('../../index.js')
      const dir = onMemory()
      const input = leaseInput(dir)
      const lease = acquireNoClobberLease(input)
      const waiting = acquireNoClobberLeaseAsync({ ...input, waitMs: 60_000 })
      await pause(200)
      const idle = await busy(2000)
      lease.release()
      ;(await waiting).release()
      const without = await busy(2000)
      rmSync(dir, { recursive: true })
      return { value: Math.max(0, (idle - without) / 20_000), unit: '%', notes: [`${idle} µs while waiting, ${without} µs without`] }
    },
  },
]

async function busy(ms) {
  const before = process.cpuUsage()
  await pause(ms)
  const { user, system } = process.cpuUsage(before)
  return user + system
}

function group(kind, dir) {
  return Promise.all(Array.from({ length: PROCESSES }, () => process_('contender.mjs', kind, dir)))
}

/** One of the programs beside this folder, ready. */
async function process_(program, ...words) {
  const file = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', program)
  const child = spawn(process.execPath, [file, ...words], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => (await lines.next()).value
  await line()
  return {
    say: (text) => child.stdin.write(`${text}\n`),
    line,
    async end() {
      child.stdin.end()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

async function round(processes) {
  const start = Date.now() + 100
  processes.forEach(({ say }) => say(`${start} ${CONTEND_MS}`))
  const lines = await Promise.all(processes.map(({ line }) => line()))
  return lines.map((text) => {
    const [had, busy] = text.split(' ').map(Number)
    return { had, busy }
  })
}

/** Nanoseconds for each time that the lock was had. */
async function contend(processes, name, notes) {
  const all = await round(processes)
  const had = all.reduce((sum, one) => sum + one.had, 0)
  notes.push(`${name}: ${had} times in ${CONTEND_MS} ms (${all.map((one) => one.had).join(', ')})`)
  return (CONTEND_MS * 1e6) / Math.max(1, had)
}
