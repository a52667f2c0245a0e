// What holds for every function: arguments are refused by name, what the caller's code throws stays what it is.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import {
  beginWorkflowRecovery,
  canonicalJson,
  configureHost,
  custody,
  normalizeRepoSnapshot,
  processStartToken,
  readServer,
  registerServer,
  serverGcConfig,
  serverId,
  serverState,
  stopServer,
} from '../index.js'

const folder = mkdtempSync(path.join(tmpdir(), 'calls-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => configureHost(null))

const cyclic = new Error('round and round')
cyclic.cause = cyclic

const throwables: [string, unknown][] = [
  ['an Error', new Error('mine')],
  ['a TypeError', new TypeError('mine')],
  ['a frozen error', Object.freeze(new Error('mine'))],
  ['an error that is its own cause', cyclic],
  ['an error whose code cannot be read', Object.defineProperty(new Error('mine'), 'code', { get: () => { throw 1 } })],
  ['a string', 'mine'],
  ['a number', 0],
  ['undefined', undefined],
  ['null', null],
  ['a symbol', Symbol('mine')],
  ['a function', () => {}],
  ['an object without a prototype', Object.create(null)],
  ['a proxy of an error', new Proxy(new Error('mine'), {})],
]

/** Deeper than any record. */
const nested: unknown = JSON.parse('{"a":'.repeat(600) + '1' + '}'.repeat(600))

/** What a call threw; fails when it returned. */
function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (thrown) {
    return thrown
  }
  throw new Error('it returned')
}

describe.each(throwables)('%s', (_name, value) => {
  const raise = (): never => {
    throw value
  }

  it('thrown by a getter leaves the call as it is', () => {
    expect(thrownBy(() => readServer('x', { get coordRoot() { return raise() } }))).toBe(value)
  })

  it('thrown by a trap of a proxy leaves the call as it is', () => {
    expect(thrownBy(() => readServer('x', new Proxy({}, { get: raise })))).toBe(value)
  })

  it('thrown by toJSON leaves the call as it is', () => {
    expect(thrownBy(() => canonicalJson({ toJSON: raise }))).toBe(value)
  })

  it('thrown by a function of the host counts as no answer, and the next call is unharmed', () => {
    configureHost({ resolveCoordRoot: raise, callingOwner: raise })
    expect(readServer('x')).toBeNull()
    expect(processStartToken(process.pid)).not.toBeNull()
  })
})

describe('an argument', () => {
  it.each([
    [() => readServer(5 as never), 'id must be a string, not a number'],
    [() => readServer('x', null as never), 'options must be an object, not null'],
    [() => readServer('x', 'y' as never), 'options must be an object, not a string'],
    [() => readServer('x', { coordRoot: [] as never }), 'options.coordRoot must be a string, not an array'],
    [() => configureHost({ sharing: 'group' as never }), 'host.sharing must be a function, not a string'],
    [() => registerServer(undefined as never), 'input must be an object, not undefined'],
  ])('of the wrong type is a TypeError that names it (%#)', (call, message) => {
    const error = thrownBy(call)
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ message, code: 'ERR_INVALID_ARG_TYPE' })
  })

  it.each([
    ['serverState', 'record', () => serverState(nested as never)],
    ['stopServer', 'record', () => stopServer(nested as never)],
    ['custody.unregisterServer', 'record', () => custody.unregisterServer(nested as never)],
    ['normalizeRepoSnapshot', 'snapshot', () => normalizeRepoSnapshot(nested as never)],
    ['canonicalJson', 'value', () => canonicalJson(nested)],
    ['beginWorkflowRecovery', 'input.target', () =>
      beginWorkflowRecovery(folder, { run_id: 'r', action: 'a', target_sha256: '0'.repeat(64), target: nested, actor: 'a', reason: 'r' })],
  ])('of %s that is nested too deeply is a TypeError that names it', async (_function, argument, call) => {
    const error = await (async () => call())().then(() => undefined, (thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({
      message: expect.stringMatching(`^${argument} cannot be read as JSON: nested too deeply`),
      code: 'ERR_INVALID_ARG_VALUE',
    })
  })

  it('that holds a NUL is no path', () => {
    const error = thrownBy(() => readServer('x', { coordRoot: '/a\0b' }))
    expect(error).toMatchObject({ message: expect.stringContaining('without null bytes'), code: 'ERR_INVALID_ARG_VALUE' })
  })
})

it('a function of the host is called as a member of the host, and may call back into the addon', () => {
  const seen: unknown[] = []
  const host = {
    resolveCoordRoot(this: unknown) {
      seen.push(this, readServer('another', { coordRoot: folder }))
      return folder
    },
  }
  configureHost(host)
  readServer('x')
  expect(seen).toEqual([host, null])
  expect(seen[0]).toBe(host)
})

describe('the environment', () => {
  const globals = path.join(folder, 'globals')
  mkdirSync(path.join(globals, 'harnery'), { recursive: true })
  writeFileSync(path.join(globals, 'harnery', 'config.jsonc'), '{ "servers": { "idle_hours": 7 } }')

  it('is process.env as it is at the call', () => {
    const before = process.env.XDG_CONFIG_HOME
    process.env.XDG_CONFIG_HOME = globals
    expect(serverGcConfig(folder)).toEqual({ idle_hours: 7 })
    process.env.XDG_CONFIG_HOME = folder
    expect(serverGcConfig(folder)).toEqual({})
    if (before === undefined) delete process.env.XDG_CONFIG_HOME
    else process.env.XDG_CONFIG_HOME = before
  })

  it('of a worker is its own', async () => {
    const [addon, root] = [path.resolve('index.js'), folder].map((name) => JSON.stringify(name))
    const source = `require('node:worker_threads').parentPort.postMessage(require(${addon}).serverGcConfig(${root}))`
    const worker = new Worker(source, { eval: true, env: { XDG_CONFIG_HOME: globals } })
    const answer = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    await worker.terminate()
    expect(answer).toEqual({ idle_hours: 7 })
    expect(process.env.XDG_CONFIG_HOME).not.toBe(globals)
  })

  it("resolves relative paths against process.cwd() as it is at the call", () => {
    const before = process.cwd()
    const there = serverId('preview', folder)
    process.chdir(folder)
    const here = serverId('preview', '.')
    process.chdir(before)
    expect(here).toBe(there)
    expect(serverId('preview', '.')).not.toBe(there)
  })
})

it('a second copy of the addon in one process lives beside the first', () => {
  const load = createRequire(import.meta.url)
  const native = load.resolve('../index.js')
  const first = load(native)
  for (const name of Object.keys(load.cache)) delete load.cache[name]
  const second = load(native)
  expect(second).not.toBe(first)
  expect(second.processStartToken(process.pid)).toBe(first.processStartToken(process.pid))
})
