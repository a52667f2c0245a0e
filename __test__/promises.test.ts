// What holds for every promise: no thread of its own, no hold on the process but its own, and a clean end.

import { execFileSync, spawn } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { acquireNoClobberLease, acquireNoClobberLeaseAsync, type AcquireNoClobberLeaseInput, type NoClobberLease } from '../index.js'

const folder = mkdtempSync(path.join(tmpdir(), 'promises-'))
afterAll(() => rmSync(folder, { recursive: true }))

const input: AcquireNoClobberLeaseInput = {
  path: path.join(folder, 'held'),
  scope: 'held',
  authoritySha256: '0'.repeat(64),
  staleAfterMs: 600_000,
}
let held: NoClobberLease
beforeEach(() => {
  held = acquireNoClobberLease(input)
})
afterEach(() => held.release())

const long = { ...input, waitMs: 600_000 }

describe('a signal', () => {
  it.each([['an error', new Error('mine')], ['a string', 'mine'], ['null', null], ['a number', 0], ['an object', {}]])(
    'that aborts with %s rejects with that very value',
    async (_name, reason) => {
      const controller = new AbortController()
      const waiting = acquireNoClobberLeaseAsync({ ...long, signal: controller.signal })
      controller.abort(reason)
      await expect(waiting.catch((thrown) => ({ thrown }))).resolves.toEqual({ thrown: reason })
      expect(await waiting.catch((thrown) => thrown)).toBe(reason)
    },
  )

  it('that is aborted already rejects before anything happens', async () => {
    const seen = readdirSync(input.path)
    const signal = AbortSignal.abort('before')
    expect(await acquireNoClobberLeaseAsync({ ...long, signal }).catch((thrown) => thrown)).toBe('before')
    expect(readdirSync(input.path)).toEqual(seen)
  })

  it('that is aborted by a callback of the call itself is heard at the next pause', async () => {
    const controller = new AbortController()
    const onContention = () => controller.abort('inside')
    const waiting = acquireNoClobberLeaseAsync({ ...long, onContention, signal: controller.signal })
    expect(await waiting.catch((thrown) => thrown)).toBe('inside')
  })

  it('is not listened to any more once the promise is settled', async () => {
    const { signal } = new AbortController()
    const waiting = acquireNoClobberLeaseAsync({ ...long, signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    held.release()
    held = await waiting
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('is heard also when it is aborted while it begins to be listened to', async () => {
    const signal = {
      aborted: false,
      reason: 'at once',
      addEventListener(_type: string, listener: () => void) {
        this.aborted = true
        listener()
      },
      removeEventListener: vi.fn(),
    }
    const waiting = acquireNoClobberLeaseAsync({ ...long, signal: signal as never })
    expect(await waiting.catch((thrown) => thrown)).toBe('at once')
    expect(signal.removeEventListener).toHaveBeenCalledOnce()
  })

  it.each([[5], [null], [{}], [{ aborted: false }]])('that is none (%j) rejects with a TypeError that names it', async (signal) => {
    const waiting = acquireNoClobberLeaseAsync({ ...long, signal: signal as never })
    await expect(waiting).rejects.toThrow(TypeError)
    await expect(waiting).rejects.toThrow('signal must be an AbortSignal')
  })
})

it('wrong arguments reject, as in an async function', async () => {
  await expect(acquireNoClobberLeaseAsync(5 as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' })
  await expect(acquireNoClobberLeaseAsync({ ...long, get waitMs() { throw 'mine' } } as never)).rejects.toBe('mine')
})

it('two hundred waits take one thread', async () => {
  const controller = new AbortController()
  const waits = Array.from({ length: 200 }, () => acquireNoClobberLeaseAsync({ ...long, signal: controller.signal }))
  const threads = readdirSync('/proc/self/task').map((task) => readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim())
  expect(threads.filter((name) => name === 'harnery-waits')).toHaveLength(1)
  controller.abort('done')
  expect(await Promise.all(waits.map((wait) => wait.catch((thrown) => thrown)))).toEqual(Array(200).fill('done'))
})

describe('a process', () => {
  const script = (body: string) => `
    const { acquireNoClobberLease, acquireNoClobberLeaseAsync } = require(${JSON.stringify(path.resolve('index.js'))})
    const input = ${JSON.stringify(input)}
    ${body}`

  it('stays alive for as long as a promise needs it, and no longer', () => {
    const body = `acquireNoClobberLeaseAsync({ ...input, waitMs: 300 }).catch(({ code }) => console.log(code))`
    const printed = execFileSync(process.execPath, ['-e', script(body)], { encoding: 'utf8', timeout: 20_000 })
    expect(printed).toBe('LEASE_HELD\n')
  })

  it.each(['process.exit(7)', 'setTimeout(() => process.exit(7), 30)'])('may end by %s while promises are pending', async (exit) => {
    const body = `for (let i = 0; i < 50; i++) acquireNoClobberLeaseAsync({ ...input, waitMs: 600_000 }).catch(() => {}); ${exit}`
    const child = spawn(process.execPath, ['-e', script(body)], { stdio: 'ignore' })
    const ended = await new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))
    expect(ended).toBe(7)
  })

  it('outlives sixty workers that are ended with promises pending, in the middle of settling', { timeout: 120_000 }, async () => {
    const body = `
      require('node:events').setMaxListeners(0)
      for (let i = 0; i < 30; i++) acquireNoClobberLeaseAsync({ ...input, waitMs: i % 10, onContention() { globalThis.seen = i } }).catch(() => {})
      for (let i = 0; i < 10; i++) acquireNoClobberLeaseAsync({ ...input, waitMs: 600_000, signal: new AbortController().signal }).catch(() => {})
      require('node:worker_threads').parentPort.postMessage('ready')`
    const before = readdirSync('/proc/self/fd').length
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 6 }, async (_, index) => {
        const worker = new Worker(script(body), { eval: true })
        await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
        // Each at another moment: turns of the event loop, not time, lie between them.
        for (let turn = 0; turn < index * 4; turn++) await new Promise(setImmediate)
        await worker.terminate()
      }))
    }
    const waiting = acquireNoClobberLeaseAsync(long)
    held.release()
    held = await waiting
    expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 1)
  })
})
