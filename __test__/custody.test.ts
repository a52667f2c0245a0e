import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as native from '../index.js'
import { custody, migrateServerRecords, registerServer } from '../index.js'
import { ended, planted, Project } from './support/project.js'

let project: Project
let coordRoot: string

beforeEach(() => {
  project = new Project()
  coordRoot = project.root
})

afterEach(() => project.remove())

const preview: custody.RegisterServerInput = { id: 'a', kind: 'session', type: 'preview', owner: null }
const register = (more: Partial<custody.RegisterServerInput> = {}) =>
  custody.registerServer({ ...preview, ...more }, { coordRoot }) as custody.ServerRecord
const receipt = '0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c'
const NOBODY = 0x7ffffff0
const isHeld = () => existsSync(path.join(coordRoot, '.harnery/servers/.custody/a/current'))

describe('the namespace', () => {
  it('has everything that the current contract exports, the shared functions as the very same', () => {
    expect(custody.SERVER_RECORD_SCHEMA_VERSION).toBe(2)
    expect(custody.SERVER_DEFAULT_IDLE_HOURS).toBe(2)
    for (const name of ['serverId', 'serversDir', 'planServerGc', 'scanSupport', 'processStartToken', 'verifyProcessGeneration'] as const) {
      expect(custody[name]).toBe(native[name])
    }
    for (const name of ['registerServer', 'readServer', 'touchServer', 'listServers'] as const) {
      expect(custody[name]).not.toBe(native[name])
    }
  })
})

describe('a registration', () => {
  it('has its receipt after its id and is returned exactly as written', () => {
    const record = register({ port: 8080 })
    expect(Object.keys(record).slice(0, 3)).toEqual(['schema_version', 'id', 'registration_id'])
    expect(record.registration_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(project.text('a')).toBe(`${JSON.stringify(record)}\n`)
    expect(custody.readServer('a', { coordRoot })).toEqual(record)
    expect(register({ label: 'again' })).toEqual(record)
    expect(isHeld()).toBe(false)
  })

  it('of a server that may live is refused and kept', async () => {
    const { pid, child } = await project.idle()
    const first = register({ pid })
    expect(() => register()).toThrow(expect.objectContaining({
      code: 'SERVER_CUSTODY',
      message: `registration a custody is held by a live or unverifiable server: process ${pid} on ${os.hostname()}; stop it where it runs, or take another id`,
    }))
    expect(custody.tryRegisterServer(preview, { coordRoot })).toBeNull()
    expect(custody.readServer('a', { coordRoot })).toEqual(first)
    await ended(child)
    expect(register().registration_id).not.toBe(first.registration_id)
  })

  it('that cannot be read is kept, named and never overwritten', () => {
    for (const text of ['{', '', `${JSON.stringify(planted('a', NOBODY))}\n`]) {
      project.plant('a', text)
      const retained = (name: string) => expect.objectContaining({
        code: 'SERVER_RETAINED',
        message: `server record ${name} is invalid or uses an older schema; retained without custody; migrateServerRecords changes a record of schema 1 over, anything else is to be removed by hand`,
      })
      expect(() => register()).toThrow('registration a custody is unknown: invalid or older server record retained')
      expect(() => custody.readServer('a', { coordRoot })).toThrow(retained('a'))
      expect(() => custody.readServerRecords({ coordRoot })).toThrow(retained('a.json'))
      expect(() => custody.listServers({ coordRoot })).toThrow(retained('a.json'))
      expect(project.text('a')).toBe(text)
    }
  })

  it('is removed by its exact receipt alone', () => {
    const record = register()
    expect(custody.unregisterServer({ ...record, registration_id: receipt }, { coordRoot })).toBe(false)
    expect(custody.unregisterServer({ ...record, pid: 1 }, { coordRoot })).toBe(false)
    expect(custody.unregisterServer(null as never, { coordRoot })).toBe(false)
    expect(custody.unregisterServer({ ...record, label: 'x' }, { coordRoot })).toBe(true)
    expect(custody.unregisterServer(record, { coordRoot })).toBe(false)
  })

  it('is touched, listed and pruned', async () => {
    const { pid, child } = await project.idle()
    const record = register({ pid })
    const now = new Date('2030-01-01T00:00:00.000Z')
    custody.touchServer('a', { coordRoot, now })
    expect(custody.readServer('a', { coordRoot })).toEqual({ ...record, last_active_at: now.toISOString() })
    custody.createServerToucher('a', { coordRoot })()
    expect(custody.readServer('a', { coordRoot })?.last_active_at).not.toBe(now.toISOString())
    expect(custody.listServers({ coordRoot }).servers).toMatchObject([{ record: { id: 'a' }, state: 'running' }])
    await ended(child)
    expect(custody.listServers({ coordRoot })).toMatchObject({ servers: [], pruned: ['a'] })
  })
})

describe('holding a registration', () => {
  const hold = <T>(effect: () => T, record = register()) => custody.withServerRegistrationCustody(record, { coordRoot }, effect)

  it('lets go when the effect returns, and gives what it returned', () => {
    const value = { some: 'value' }
    expect(hold(() => {
      expect(isHeld()).toBe(true)
      return value
    })).toBe(value)
    expect(isHeld()).toBe(false)
    for (const plain of [undefined, null, 0, 'text', () => {}]) expect(hold(() => plain)).toBe(plain)
  })

  it.each([new Error('no'), 'text', undefined, null, Symbol('s')])('lets go when the effect throws, and throws the very same value', (thrown) => {
    let caught: unknown = 'nothing'
    try {
      hold(() => {
        throw thrown
      })
    } catch (error) {
      caught = error
    }
    expect(caught).toBe(thrown)
    expect(isHeld()).toBe(false)
  })

  it('lets go when what the effect returned resolves or rejects, and not before', async () => {
    let settle: [(value: string) => void, (error: unknown) => void] = [() => {}, () => {}]
    const pending = () => new Promise<string>((...both) => {
      settle = both
    })
    const resolved = hold(pending)
    expect(isHeld()).toBe(true)
    settle[0]('done')
    expect(await resolved).toBe('done')
    expect(isHeld()).toBe(false)
    const thrown = { no: 'error' }
    const rejected = hold(pending)
    expect(isHeld()).toBe(true)
    settle[1](thrown)
    await expect(rejected).rejects.toBe(thrown)
    expect(isHeld()).toBe(false)
  })

  it('takes any thenable for a promise, and lets go once however often it calls back', async () => {
    const thenable = {
      then(resolve: (value: number) => void) {
        resolve(1)
        resolve(2)
      },
    }
    const result = hold(() => thenable as PromiseLike<number>)
    expect(result).toBeInstanceOf(Promise)
    expect(await result).toBe(1)
    expect(isHeld()).toBe(false)
    const thrown = { from: 'then' }
    expect(() => hold(() => ({ get then(): never { throw thrown } }))).toThrow(expect.toSatisfy((error) => error === thrown))
    expect(isHeld()).toBe(false)
    const throwing = hold(() => ({ then: () => { throw thrown } }) as unknown as PromiseLike<number>)
    await expect(throwing).rejects.toBe(thrown)
    expect(isHeld()).toBe(false)
  })

  it('is refused at once for the same id and free for another from within the effect', () => {
    const record = register()
    const started = performance.now()
    hold(() => {
      const held = expect.objectContaining({ code: 'LEASE_HELD' })
      expect(() => hold(() => {}, record)).toThrow(held)
      expect(() => custody.unregisterServer(record, { coordRoot })).toThrow(held)
      expect(() => custody.touchServer('a', { coordRoot })).toThrow(held)
      const other = register({ id: 'b' })
      expect(custody.withServerRegistrationCustody(other, { coordRoot }, () => 'inner')).toBe('inner')
      expect(custody.unregisterServer(other, { coordRoot })).toBe(true)
    }, record)
    expect(performance.now() - started).toBeLessThan(1500)
    expect(isHeld()).toBe(false)
    expect(custody.unregisterServer(record, { coordRoot })).toBe(true)
  })

  it('a second process cannot register the id meanwhile', async () => {
    const record = register()
    await hold(async () => {
      const { said } = await project.start(`
        const { custody } = require(${JSON.stringify(path.resolve('index.js'))})
        try {
          custody.registerServer({ id: 'a', kind: 'session', type: 'preview', owner: null }, { coordRoot: ${JSON.stringify(coordRoot)}, custodyWaitMs: 200 })
          console.log('registered')
        } catch (error) { console.log(error.code) }`)
      expect(said).toBe('LEASE_HELD')
    }, record)
    expect(custody.readServer('a', { coordRoot })).toEqual(record)
  })

  it('whose process ends before it is settled is free for the next one', async () => {
    const script = `
      const { custody } = require(${JSON.stringify(path.resolve('index.js'))})
      const options = { coordRoot: ${JSON.stringify(coordRoot)} }
      const record = custody.registerServer({ id: 'a', kind: 'session', type: 'preview', owner: null }, options)
      custody.withServerRegistrationCustody(record, options, () => new Promise(() => {}))
      console.log('holding'); setInterval(() => {}, 1e6)`
    const { child } = await project.start(script)
    expect(isHeld()).toBe(true)
    expect(() => custody.registerServer(preview, { coordRoot, custodyWaitMs: 50 })).toThrow(expect.objectContaining({ code: 'LEASE_HELD' }))
    await ended(child)
    expect(register().pid).toBe(process.pid)
    expect(isHeld()).toBe(false)
  })

  it('of a worker ends with the worker', async () => {
    const record = register()
    const script = `
      const { workerData, parentPort } = require('node:worker_threads')
      const { custody } = require(workerData.addon)
      custody.withServerRegistrationCustody(workerData.record, { coordRoot: workerData.coordRoot }, () => new Promise(() => {}))
      parentPort.postMessage('holding'); setInterval(() => {}, 1e6)`
    const worker = new Worker(script, { eval: true, workerData: { addon: path.resolve('index.js'), record, coordRoot } })
    await new Promise((resolve) => worker.once('message', resolve))
    expect(isHeld()).toBe(true)
    expect(() => custody.touchServer('a', { coordRoot })).toThrow(expect.objectContaining({ code: 'LEASE_HELD' }))
    await worker.terminate()
    expect(isHeld()).toBe(false)
    custody.touchServer('a', { coordRoot })
  })

  it('is of a current receipt only', () => {
    const record = register()
    const changed = { code: 'SERVER_CUSTODY', message: 'registration a custody changed' }
    const effect = () => {
      throw new Error('never')
    }
    expect(() => hold(effect, { ...record, registration_id: receipt })).toThrow(expect.objectContaining(changed))
    custody.unregisterServer(record, { coordRoot })
    expect(() => hold(effect, record)).toThrow(expect.objectContaining(changed))
    expect(() => custody.withServerRegistrationCustody(record, { coordRoot: null }, effect)).toThrow('registration custody root is unavailable')
    expect(() => custody.withServerRegistrationCustody(record, { coordRoot }, 7 as never)).toThrow('effect must be a function, not a number')
    expect(isHeld()).toBe(false)
  })

  it('tells that custody was lost, once the effect is done', () => {
    const record = register()
    const lost = () => hold(() => rmSync(path.join(coordRoot, '.harnery/servers/.custody/a/current')), record)
    expect(lost).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }))
  })
})

describe('changing over', () => {
  it('rewrites each readable record and names the others', () => {
    const first = registerServer({ ...preview, id: 'one' }, { coordRoot }) as native.ServerRecord
    project.plant('two', planted('two', NOBODY, { mine: { b: 1, a: 2 } }))
    project.plant('torn', '{')
    expect(migrateServerRecords(coordRoot, 2)).toEqual({
      migrated: ['one', 'two'],
      kept: [{ id: 'torn', reason: 'it is no valid record' }],
    })
    expect(custody.readServer('one', { coordRoot })).toEqual({ ...first, schema_version: 2 })
    expect(custody.readServer('two', { coordRoot })).toMatchObject({ mine: { b: 1, a: 2 } })
    expect(native.readServerRecords({ coordRoot })).toEqual([])
    expect(migrateServerRecords(coordRoot, 1).migrated).toEqual(['one', 'two'])
    expect(native.readServer('one', { coordRoot })).toEqual(first)
    expect(() => migrateServerRecords(coordRoot, 3 as never)).toThrow(RangeError)
  })
})

it('the example runs and shows what it says', () => {
  const run = spawnSync(process.execPath, ['examples/custody.mjs'], { encoding: 'utf8' })
  expect(run.stdout.split('\n').filter((line) => line.startsWith('✓'))).toHaveLength(7)
  expect(run).toMatchObject({ status: 0, stderr: '' })
})
