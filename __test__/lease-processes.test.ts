import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { acquireNoClobberLease } from '../index.js'
import { LeaseScene, refusal, staleAfterMs, thrownBy } from './support/lease.js'
import { residentGrowth } from './support/memory.js'

let scene: LeaseScene

beforeEach(() => {
  scene = new LeaseScene()
})

afterEach(() => scene.remove())

describe('processes', () => {
  it('contend: one holds, the others are refused, and nothing of them is left', async () => {
    const contenders = Array.from({ length: 6 }, () => scene.contender())
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(contenders.map((contender) => contender.ask('acquire')))
      const held = answers.filter((answer) => answer.startsWith('held '))
      expect(held).toEqual([`held ${scene.current().owner_id}`])
      expect(answers.filter((answer) => answer === 'refused LEASE_HELD unexpired')).toHaveLength(5)
      const holder = contenders[answers.findIndex((answer) => answer.startsWith('held '))]
      expect(await holder?.ask('release')).toBe('released')
      expect(scene.names()).toEqual([])
    }
    const cycles = await Promise.all(contenders.map((contender) => contender.ask('cycles 500')))
    // Who gets it how often is the scheduler's; that somebody always gets it is the lease's.
    expect(cycles).toEqual(cycles.map(() => expect.stringMatching(/^cycles \d+$/)))
    expect(cycles.some((answer) => answer !== 'cycles 0')).toBe(true)
    expect(scene.names()).toEqual([])
  })

  it('are refused while a killed holder is unexpired, and recover from it afterwards', async () => {
    const holder = scene.contender()
    const answer = await holder.ask('acquire')
    const later = () => Date.now() + 2 * staleAfterMs
    expect(refusal(scene.input({ now: later }))).toMatchObject({ code: 'LEASE_HELD', reason: 'alive' })
    await holder.kill()
    expect(refusal(scene.input())).toMatchObject({ code: 'LEASE_HELD', reason: 'unexpired' })
    const lease = acquireNoClobberLease(scene.input({ now: later }))
    expect(`held ${lease.recovered_owner?.owner_id}`).toBe(answer)
    lease.release()
    expect(scene.names()).toEqual([])
  })
})

const worker = (script: string) =>
  new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
     const native = require(workerData.addon)
     ${script}`,
    { eval: true, workerData: { addon: path.join(import.meta.dirname, '..', 'index.js'), input: scene.input() } },
  )
const message = (from: Worker) => new Promise((resolve) => from.once('message', resolve))

it('l18 two copies of the addon in one process are two contenders', () => {
  const root = path.join(import.meta.dirname, '..')
  const copy = mkdtempSync(path.join(os.tmpdir(), 'copy-'))
  try {
    const binary = readdirSync(root).filter((name) => name.endsWith('.node'))
    for (const name of ['index.js', 'loader.js', 'whole.js', 'platforms.json', 'package.json', ...binary]) {
      copyFileSync(path.join(root, name), path.join(copy, name))
    }
    const other = createRequire(import.meta.url)(path.join(copy, 'index.js')) as typeof import('../index.js')
    expect(other.acquireNoClobberLease).not.toBe(acquireNoClobberLease)
    const lease = acquireNoClobberLease(scene.input())
    const refused = thrownBy(() => other.acquireNoClobberLease(scene.input()))
    expect(refused).toMatchObject({ code: 'LEASE_HELD', holder: { owner_id: lease.owner.owner_id } })
    lease.release()
    const theirs = other.acquireNoClobberLease(scene.input())
    expect(refusal(scene.input())).toMatchObject({ code: 'LEASE_HELD' })
    theirs.release()
    expect(scene.names()).toEqual([])
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
})

it('a process that ends leaves what it holds, by whatever way it ends', () => {
  for (const end of ['', 'process.exit()', "process.kill(process.pid, 'SIGKILL')"]) {
    const script = `require('./index.js').acquireNoClobberLease(${JSON.stringify(scene.input())}); ${end}`
    spawnSync(process.execPath, ['-e', script], { cwd: path.join(import.meta.dirname, '..') })
    const dead = scene.current()
    const lease = acquireNoClobberLease(scene.input({ now: () => Date.now() + 2 * staleAfterMs }))
    expect(lease.recovered_owner).toEqual(dead)
    lease.release()
  }
})

describe('worker threads', () => {
  it.each([
    ['is terminated', (holder: Worker) => holder.terminate()],
    ['exits', (holder: Worker) => holder.postMessage('process.exit()')],
    ['throws', (holder: Worker) => holder.postMessage('throw new Error()')],
  ])('l18 are contenders like any other, and let go what they hold when one %s', async (_how, end) => {
    const holder = worker(`
      parentPort.on('message', (code) => eval(code))
      parentPort.postMessage(native.acquireNoClobberLease(workerData.input).owner.owner_id)`)
    const ended = new Promise((resolve) => holder.on('error', () => {}).once('exit', resolve))
    expect(await message(holder)).toBe(scene.current().owner_id)
    expect(refusal(scene.input())).toMatchObject({ code: 'LEASE_HELD' })
    end(holder)
    await ended
    expect(scene.names()).toEqual([])
  })

  it('leave what they took in the name of another process', async () => {
    const holder = worker("parentPort.postMessage(native.acquireNoClobberLease({ ...workerData.input, pid: 1 }).owner.owner_id)")
    expect(await message(holder)).toBe(scene.current().owner_id)
    await holder.terminate()
    expect(scene.current().pid).toBe(1)
  })

  it('leave nothing when they end in the middle of a recovery', async () => {
    const dead = scene.plantHolder()
    const living = { ...dead, owner_id: 'bystander', owner_file: 'owner-bystander.json', pid: process.pid }
    writeFileSync(path.join(scene.path, living.owner_file), JSON.stringify(living))
    const before = scene.names()
    const recovering = worker(`
      native.acquireNoClobberLeaseAsync(workerData.input).catch(() => {})
      parentPort.postMessage('recovering')`)
    expect(await message(recovering)).toBe('recovering')
    await recovering.terminate()
    expect(scene.names()).toEqual(before)
  })

  it('may end while they wait', async () => {
    const lease = acquireNoClobberLease(scene.input())
    const waiting = worker(`
      native.acquireNoClobberLeaseAsync({ ...workerData.input, waitMs: 60000 })
      parentPort.postMessage('waiting')`)
    expect(await message(waiting)).toBe('waiting')
    await waiting.terminate()
    lease.release()
    expect(scene.names()).toEqual([])
  })
})

it('leaves the resident size flat over a hundred thousand cycles', () => {
  const input = JSON.stringify(scene.input())
  const growth = residentGrowth(
    100_000,
    `const input = ${input}
     for (let left = times; left > 0; left--) {
       native.acquireNoClobberLease(input).release()
       if (left % 1000 === 0) await turn()
     }`,
  )
  expect(growth).toBeLessThan(8)
}, 120_000)
