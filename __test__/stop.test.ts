import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ended, Project } from './support/project.js'
import { custody, pidAlive, processStartToken, registerServer, type ServerRecord, stopServer } from '../index.js'

let project: Project
const children: ChildProcess[] = []

beforeEach(() => {
  project = new Project()
})

afterEach(async () => {
  await Promise.all(children.splice(0).map(ended))
  await project.remove()
})

/** A shell in a session of its own, once it has said that it is ready. */
async function shell(script: string): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(child)
  await once(child.stdout, 'data')
  return { child, pid: child.pid as number }
}

const sleeper = () => shell('echo ready; exec sleep 60')

/** One that SIGTERM does not end. */
const stubborn = () => shell("trap '' TERM; echo ready; exec sleep 60")

const register = (pid: number, more: object = {}): ServerRecord =>
  registerServer({ id: 'it', kind: 'session', type: 'preview', pid, owner: null, ...more }, { coordRoot: project.root }) as ServerRecord

/** A record that is in no registry. */
const unregistered = (pid: number): ServerRecord => ({
  schema_version: 1,
  id: 'it',
  kind: 'session',
  type: 'preview',
  label: 'it',
  pid,
  start_token: processStartToken(pid) as string,
  host: os.hostname(),
  started_at: '',
  registered_at: '',
})

const stopped = { id: 'it', stopped: true, method: 'signal' }
const refused = (pid: number, generation: string) => ({
  id: 'it',
  stopped: false,
  method: 'refused',
  generation,
  detail: `pid ${pid} generation is ${generation}; left the server record in place`,
})

const throws = (): never => {
  throw new Error('cannot say')
}

describe('a stop', () => {
  it('ends the server with its group and removes the record', async () => {
    const { child, pid } = await shell('echo ready; sleep 60; true')
    const record = register(pid)
    const exit = once(child, 'exit')
    expect(await stopServer(record, { coordRoot: project.root })).toEqual(stopped)
    expect(await exit).toEqual([null, 'SIGTERM'])
    expect(existsSync(project.file('it'))).toBe(false)
  })

  it('of one that has ended is not-running and removes the record', async () => {
    const { child, pid } = await sleeper()
    const record = register(pid)
    await ended(child)
    expect(await stopServer(record, { coordRoot: project.root })).toEqual({ id: 'it', stopped: false, method: 'not-running' })
    expect(existsSync(project.file('it'))).toBe(false)
  })

  it('of another generation is refused and the process serves on', async () => {
    const { pid } = await sleeper()
    const record = { ...register(pid), start_token: 'l0.0' }
    expect(await stopServer(record, { coordRoot: project.root })).toEqual(refused(pid, 'different'))
    expect(pidAlive(pid)).toBe(true)
    expect(existsSync(project.file('it'))).toBe(true)
  })

  it('of one on another host is refused', async () => {
    const record = { ...unregistered(process.pid), host: 'other.example' }
    expect(await stopServer(record, { coordRoot: null })).toEqual({
      id: 'it',
      stopped: false,
      method: 'refused',
      detail: 'runs on other.example',
    })
  })

  it('kills what SIGTERM does not end, and never blocks the event loop', async () => {
    const { child, pid } = await stubborn()
    const record = register(pid)
    let [last, longest] = [performance.now(), 0]
    const ticks = setInterval(() => {
      const now = performance.now()
      longest = Math.max(longest, now - last)
      last = now
    }, 1)
    const exit = once(child, 'exit')
    const begun = performance.now()
    expect(await stopServer(record, { coordRoot: project.root, graceMs: 300 })).toEqual(stopped)
    clearInterval(ticks)
    expect(performance.now() - begun).toBeGreaterThanOrEqual(300)
    expect(longest).toBeLessThan(250)
    expect(await exit).toEqual([null, 'SIGKILL'])
  })

  it('without a root stops the process all the same', async () => {
    const { pid } = await sleeper()
    expect(await stopServer(unregistered(pid), { coordRoot: null })).toEqual(stopped)
  })

  it('names who still listens on the port', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const { pid } = await sleeper()
    const result = await stopServer(register(pid, { port }), { coordRoot: project.root })
    expect(result).toEqual({ ...stopped, detail: expect.stringContaining(`port ${port} is still listened on by pid ${process.pid} (`) })
    server.close()
    await once(server, 'close')
  })

  it('settles within 5 ms of the end of the process', { timeout: 60_000 }, async () => {
    const delays: number[] = []
    for (let round = 0; round < 20; round++) {
      const { child, pid } = await stubborn()
      // By Node's own way, which a busy machine makes late in the same manner.
      const ended = once(child, 'exit').then(() => performance.now())
      const settled = stopServer(unregistered(pid), { coordRoot: null, graceMs: 50_000 }).then((result) => {
        expect(result).toEqual(stopped)
        return performance.now()
      })
      await new Promise((resolve) => setTimeout(resolve, 10))
      process.kill(pid, 'SIGKILL')
      delays.push((await settled) - (await ended))
    }
    delays.sort((a, b) => a - b)
    expect(delays[10]).toBeLessThan(5)
  })

  it('needs one thread, however many there are', { timeout: 60_000 }, async () => {
    const threads = () => readdirSync('/proc/self/task').length
    const all = await Promise.all(Array.from({ length: 200 }, stubborn))
    const before = threads()
    const stops = all.map(({ pid }) => stopServer(unregistered(pid), { coordRoot: null, graceMs: 50_000 }))
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(threads()).toBeLessThanOrEqual(before + 1)
    for (const { pid } of all) process.kill(pid, 'SIGKILL')
    expect(await Promise.all(stops)).toEqual(all.map(() => stopped))
    expect(threads()).toBeLessThanOrEqual(before + 1)
  })
})

describe('an AbortSignal', () => {
  it('ends a stop whose grace period never would', async () => {
    const { pid } = await stubborn()
    const controller = new AbortController()
    const options = { coordRoot: null, graceMs: Number.MAX_SAFE_INTEGER, signal: controller.signal }
    const settled = stopServer(unregistered(pid), options)
    setTimeout(() => controller.abort('enough'), 20)
    await expect(settled).rejects.toBe('enough')
  })

  it('that is aborted rejects with its reason, sends nothing more and leaves the record', async () => {
    const { child, pid } = await stubborn()
    const record = register(pid)
    const controller = new AbortController()
    const reason = { why: 'enough' }
    const settled = stopServer(record, { coordRoot: project.root, graceMs: 30, signal: controller.signal })
    controller.abort(reason)
    await expect(settled).rejects.toBe(reason)
    const killed = await Promise.race([once(child, 'exit'), new Promise((resolve) => setTimeout(resolve, 150, 'alive'))])
    expect(killed).toBe('alive')
    expect(existsSync(project.file('it'))).toBe(true)
  })

  it('that was aborted before sends nothing', async () => {
    const { pid } = await sleeper()
    const settled = stopServer(unregistered(pid), { coordRoot: null, signal: AbortSignal.abort() })
    await expect(settled).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
    expect(pidAlive(pid)).toBe(true)
  })

  it('that is none is a TypeError', async () => {
    const stop = stopServer(unregistered(process.pid), { coordRoot: null, signal: {} as never })
    await expect(stop).rejects.toThrow('options.signal must be an AbortSignal, not an object')
  })
})

describe('the functions that a caller supplies', () => {
  it('see group signals as a negative pid, and are polled', async () => {
    const { pid } = await sleeper()
    const record = register(pid)
    const calls: unknown[] = []
    let alive = true
    const signalDependencies = {
      probePid: () => alive,
      readToken: () => record.start_token as string,
      kill(this: unknown, target: number, name: string) {
        calls.push([this === signalDependencies, target, name])
        if (name === 'SIGKILL') alive = false
      },
    }
    const result = await stopServer(record, { coordRoot: project.root, graceMs: 60, signalDependencies })
    expect(result).toEqual(stopped)
    expect(calls).toEqual([
      [true, -pid, 'SIGTERM'],
      [true, -pid, 'SIGKILL'],
    ])
    expect(pidAlive(pid)).toBe(true)
    expect(existsSync(project.file('it'))).toBe(false)
  })

  it('stop a number that is handed out again within the grace period from being killed', async () => {
    const { pid } = await sleeper()
    const record = register(pid)
    const calls: unknown[] = []
    let token = record.start_token as string
    const signalDependencies = {
      probePid: () => true,
      readToken: () => token,
      kill: (target: number, name: string) => {
        calls.push([target, name])
        token = 'l00000000.9'
      },
    }
    const result = await stopServer(record, { coordRoot: project.root, graceMs: 60, signalDependencies })
    expect(result).toEqual(refused(pid, 'different'))
    expect(calls).toEqual([[-pid, 'SIGTERM']])
    expect(existsSync(project.file('it'))).toBe(true)
  })

  it.each(['probePid', 'readToken'])('are unknown when %s throws', async (name) => {
    const { pid } = await sleeper()
    const record = register(pid)
    const result = await stopServer(record, { coordRoot: project.root, signalDependencies: { [name]: throws } })
    expect(result).toEqual(refused(pid, 'unknown'))
    expect(pidAlive(pid)).toBe(true)
    expect(existsSync(project.file('it'))).toBe(true)
  })

  it('that kill and throw fall back to the leader alone, and the result is what is true afterwards', async () => {
    const { child, pid } = await sleeper()
    const calls: number[] = []
    const kill = (target: number, name: NodeJS.Signals) => {
      calls.push(target)
      if (target < 0) throw new Error('no such group')
      process.kill(target, name)
      throw new Error('and yet it was sent')
    }
    const exit = once(child, 'exit')
    expect(await stopServer(unregistered(pid), { coordRoot: null, signalDependencies: { kill } })).toEqual(stopped)
    expect(calls).toEqual([-pid, pid])
    await exit
  })

  it.each([
    [{ signalDependencies: { kill: null } }, 'signalDependencies.kill must be a function, not null'],
    [{ signalDependencies: 5 }, 'options.signalDependencies must be an object, not a number'],
    [{ graceMs: -1 }, 'options.graceMs must be a number of milliseconds, 0 or more, not -1'],
    [{ graceMs: Number.NaN }, 'options.graceMs must be a number of milliseconds, 0 or more, not NaN'],
    [{ graceMs: '5' }, 'options.graceMs must be a number, not a string'],
    [{ coordRoot: 5 }, 'options.coordRoot must be a string, not a number'],
  ])('that are none, and other wrong options, reject before anything is sent: %j', async (options, message) => {
    const { pid } = await sleeper()
    await expect(stopServer(unregistered(pid), { coordRoot: null, ...options } as never)).rejects.toThrow(message)
    await expect(stopServer(5 as never)).rejects.toThrow('record must be an object, not a number')
    expect(pidAlive(pid)).toBe(true)
  })
})

describe('a stop under custody', () => {
  const registered = (pid: number) =>
    custody.registerServer({ id: 'it', kind: 'session', type: 'preview', pid, owner: null }, { coordRoot: project.root }) as custody.ServerRecord

  it('signals each process by itself and removes the record', async () => {
    const { child, pid } = await shell('sleep 60 & echo $!; wait')
    const record = registered(pid)
    const exit = once(child, 'exit')
    expect(await custody.stopServer(record, { coordRoot: project.root })).toEqual(stopped)
    expect(await exit).toEqual([null, 'SIGTERM'])
    expect(existsSync(project.file('it'))).toBe(false)
    process.kill(-pid, 'SIGKILL')
  })

  it('is refused without a root, and for a receipt that is no longer current', async () => {
    const { pid } = await sleeper()
    const record = registered(pid)
    const refusal = (detail: string) => ({ id: 'it', stopped: false, method: 'refused', generation: 'unknown', detail })
    expect(await custody.stopServer(record, { coordRoot: null })).toEqual(refusal('registration custody root is unavailable'))
    const stale = { ...record, registration_id: '00000000-0000-4000-8000-000000000000' }
    expect(await custody.stopServer(stale, { coordRoot: project.root })).toEqual(
      refusal('registration custody changed; retained current server'),
    )
    expect(pidAlive(pid)).toBe(true)
    expect(existsSync(project.file('it'))).toBe(true)
  })

  it('waits for the lease without blocking, even for a holder in this very process', async () => {
    const { pid } = await sleeper()
    const record = registered(pid)
    const options = { coordRoot: project.root }
    let settle = () => {}
    const held = custody.withServerRegistrationCustody(record, options, () => new Promise<void>((resolve) => (settle = resolve)))
    const busy = await custody.stopServer(record, { ...options, custodyWaitMs: 20 })
    expect(busy).toMatchObject({ method: 'refused', detail: 'registration custody is unavailable' })
    const stop = custody.stopServer(record, options)
    settle()
    await held
    expect(await stop).toEqual(stopped)
  })

  it('that is aborted leaves the record and lets the lease go', async () => {
    const { pid } = await stubborn()
    const record = registered(pid)
    const controller = new AbortController()
    const stop = custody.stopServer(record, { coordRoot: project.root, signal: controller.signal })
    controller.abort()
    await expect(stop).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
    expect(custody.withServerRegistrationCustody(record, { coordRoot: project.root }, () => 'free')).toBe('free')
    expect(pidAlive(pid)).toBe(true)
  })
})

describe('a worker', () => {
  const script = (record: object, then: string) => `
    const { parentPort } = require('node:worker_threads')
    const native = require(${JSON.stringify(new URL('../index.js', import.meta.url).pathname)})
    native.stopServer(${JSON.stringify(record)}, { coordRoot: null, graceMs: 60_000 }).then((r) => parentPort.postMessage(r))
    ${then}`

  it.each([
    ['terminated', "parentPort.postMessage('pending')"],
    ['left', "parentPort.postMessage('pending'); setTimeout(() => process.exit(0), 5)"],
  ])('that is %s while a stop is pending takes nothing down', async (how, then) => {
    const { pid } = await stubborn()
    for (let round = 0; round < 5; round++) {
      const worker = new Worker(script(unregistered(pid), then), { eval: true })
      expect(await once(worker, 'message')).toEqual(['pending'])
      const exit = once(worker, 'exit')
      if (how === 'terminated') await worker.terminate()
      await exit
    }
    expect(pidAlive(pid)).toBe(true)
    expect(await stopServer(unregistered(pid), { coordRoot: null, graceMs: 0 })).toEqual(stopped)
  })

  it('stays alive for the stop that it waits for, and no longer', async () => {
    const { pid } = await sleeper()
    const worker = new Worker(script(unregistered(pid), ''), { eval: true })
    const exit = once(worker, 'exit')
    expect(await once(worker, 'message')).toEqual([stopped])
    expect(await exit).toEqual([0])
  })
})
