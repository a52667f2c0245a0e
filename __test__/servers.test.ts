import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  adoptServer,
  allocateServerPort,
  createServerToucher,
  ensureServersDir,
  findUnregisteredListeners,
  isValidServerId,
  listServers,
  planServerGc,
  processStartToken,
  readServer,
  readServerRecords,
  type RegisterServerInput,
  registerServer,
  SERVER_DEFAULT_IDLE_HOURS,
  SERVER_DEFAULT_OWNER_STALE_HOURS,
  SERVER_RECORD_SCHEMA_VERSION,
  scanSupport,
  type ServerRecord,
  serverGcConfig,
  serverId,
  serverPortRange,
  serversDir,
  serverState,
  type ServerView,
  touchServer,
  tryRegisterServer,
  unregisterServer,
} from '../index.js'
import { ended, planted, Project } from './support/project.js'

let project: Project
let coordRoot: string

beforeEach(() => {
  project = new Project()
  coordRoot = project.root
})

afterEach(async () => {
  await project.remove()
})

const preview: RegisterServerInput = { id: 'a', kind: 'session', type: 'preview', owner: null }
const register = (more: Partial<RegisterServerInput> = {}) =>
  registerServer({ ...preview, ...more }, { coordRoot }) as ServerRecord
const wrong = (value: unknown) => value as never
const NOBODY = 0x7ffffff0

describe('names', () => {
  it('the constants are the harness’s', () => {
    expect([SERVER_RECORD_SCHEMA_VERSION, SERVER_DEFAULT_IDLE_HOURS, SERVER_DEFAULT_OWNER_STALE_HOURS]).toEqual([1, 2, 24])
  })

  it('directories and ids', () => {
    expect(serversDir('/w/p')).toBe('/w/p/.harnery/servers')
    expect(serversDir('p/')).toBe('p/.harnery/servers')
    expect(ensureServersDir(coordRoot)).toBe(path.join(coordRoot, '.harnery/servers'))
    expect(statSync(serversDir(coordRoot)).mode & 0o777).toBe(0o700)
    expect(serverId('Preview Gate!')).toBe('preview-gate')
    expect(serverId('preview', '/home/me/My Project')).toBe('preview-my-project-42276b')
    expect(serverId('preview', '')).toBe('preview')
    expect(isValidServerId('a.b_c-1')).toBe(true)
    expect(isValidServerId('../a')).toBe(false)
  })

  it('a NUL in a path is refused', () => {
    expect(() => serversDir('a\0b')).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }))
    expect(() => registerServer(preview, { coordRoot: `${coordRoot}\0` })).toThrow('null bytes')
  })
})

describe('registering', () => {
  it('returns exactly what was written', () => {
    const record = register({ port: 8080, url: 'http://x/', scope: coordRoot, owner: { instance_id: 'me' }, label: '\ud800' })
    expect(project.text('a')).toBe(`${JSON.stringify(record)}\n`)
    expect(readServer('a', { coordRoot })).toEqual(record)
    expect(readServerRecords({ coordRoot })).toEqual([record])
    expect(Object.keys(record)).toEqual([
      'schema_version', 'id', 'kind', 'type', 'label', 'url', 'port', 'pid', 'start_token', 'host', 'scope', 'owner',
      'started_at', 'registered_at', 'last_active_at', 'registration_id', 'witness',
    ])
    expect(record).toMatchObject({ schema_version: 1, pid: process.pid, host: os.hostname(), label: '\ud800' })
    expect(record.start_token).toBe(processStartToken(process.pid))
    expect(record.registration_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(statSync(project.file('a')).mode & 0o777).toBe(0o600)
  })

  it.each([
    [{ pid: 0 }, 'invalid server pid: 0'],
    [{ pid: Number.NaN }, 'invalid server pid: NaN'],
    [{ pid: 4294967297 }, 'invalid server pid: 4294967297'],
    [{ pid: 1e21 }, 'invalid server pid: 1e+21'],
    [{ port: 0 }, 'invalid server port: 0'],
    [{ port: 70000 }, 'invalid server port: 70000'],
    [{ id: 'A' }, 'invalid server id: A'],
    [{ start_token: 'l1.1' }, `pid ${process.pid} generation could not be verified before registration`],
  ])('%j is refused before anything is written', (more, message) => {
    expect(() => register(more)).toThrow(expect.objectContaining({ message, code: 'SERVER_INPUT' }))
    expect(tryRegisterServer({ ...preview, ...more }, { coordRoot })).toBeNull()
    expect(existsSync(path.join(coordRoot, '.harnery'))).toBe(false)
  })

  it.each([
    [{ kind: 'daemon' }, 'input.kind must be "service" or "session", not "daemon"'],
    [{ type: 7 }, 'input.type must be a string, not a number'],
    [{ pid: '7' }, 'input.pid must be a number, not a string'],
    [{ pids: [1, '2'] }, 'input.pids[1] must be a number, not a string'],
    [{ owner: {} }, 'input.owner.instance_id must be a string, not undefined'],
    [{ url: null }, 'input.url must be a string, not null'],
  ])('%j is a TypeError that names the argument', (more, message) => {
    expect(() => register(wrong(more))).toThrow(TypeError)
    expect(() => register(wrong(more))).toThrow(message)
    expect(tryRegisterServer(wrong({ ...preview, ...more }), { coordRoot })).toBeNull()
  })

  it('what a getter throws leaves the call unchanged', () => {
    const thrown = { no: 'error' }
    const input = { ...preview, get label(): string { throw thrown } }
    let caught: unknown
    try {
      registerServer(input, { coordRoot })
    } catch (error) {
      caught = error
    }
    expect(caught).toBe(thrown)
    expect(tryRegisterServer(input, { coordRoot })).toBeNull()
  })

  it('without a project nothing is registered', () => {
    expect(registerServer(preview, { coordRoot: null })).toBeNull()
    expect(registerServer({ ...preview, pid: -1 }, { coordRoot: null })).toBeNull()
    expect(readServerRecords({ coordRoot: null })).toEqual([])
    expect(() => listServers({ coordRoot: null })).toThrow('no Harnery project found (coordination root did not resolve)')
  })

  it('the root is read from process.env at each call', () => {
    process.env['HARNERY_COORD_ROOT_OVERRIDE'] = coordRoot
    try {
      expect(registerServer(preview)).toMatchObject({ id: 'a' })
    } finally {
      delete process.env['HARNERY_COORD_ROOT_OVERRIDE']
    }
    expect(existsSync(project.file('a'))).toBe(true)
  })

  it('a symbolic link in a record’s place is refused', () => {
    mkdirSync(serversDir(coordRoot), { recursive: true })
    writeFileSync(path.join(coordRoot, 'target'), 'mine')
    symlinkSync(path.join(coordRoot, 'target'), project.file('a'))
    expect(() => register()).toThrow(expect.objectContaining({ code: 'SERVER_RETAINED' }))
    expect(readServer('a', { coordRoot })).toBeNull()
  })

  it('a failed system call is told as Node tells it', () => {
    writeFileSync(path.join(coordRoot, '.harnery'), 'a file')
    expect(() => register()).toThrow(expect.objectContaining({ code: 'ENOTDIR', syscall: 'open', errno: -os.constants.errno.ENOTDIR }))
  })
})

describe('touching and removing', () => {
  it('a touch changes its own field alone', () => {
    project.plant('a', planted('a', 7, { mine: { b: 1, a: '\ud83d' }, last_active_at: 'x', zzz: 1e21 }))
    const before = project.text('a')
    touchServer('a', { coordRoot, now: new Date('2026-02-03T04:05:06.789Z') })
    expect(project.text('a')).toBe(before.replace('"x"', '"2026-02-03T04:05:06.789Z"'))
    expect(() => touchServer('a', { coordRoot, now: wrong('now') })).toThrow('options.now must be a Date, not a string')
    expect(() => touchServer('a', { coordRoot, now: new Date(Number.NaN) })).toThrow(TypeError)
  })

  it('a toucher touches once a minute, never throws and takes its options when it is made', () => {
    project.plant('a', planted('a', 7))
    const options = { coordRoot: coordRoot as string | null }
    const touch = createServerToucher('a', options)
    options.coordRoot = null
    expect(touch()).toBeUndefined()
    const first = project.text('a')
    expect(first).toContain('last_active_at')
    project.plant('a', planted('a', 7))
    touch()
    expect(project.text('a')).not.toContain('last_active_at')
    createServerToucher('a', { coordRoot: '/dev/null/x' })()
    expect(() => createServerToucher(wrong(7))).toThrow(TypeError)
  })

  it('with a pid only the record that names it is removed', () => {
    register()
    expect(unregisterServer('a', { coordRoot, pid: process.pid + 1 })).toBe(false)
    expect(unregisterServer('a', { coordRoot, pid: process.pid })).toBe(true)
    expect(unregisterServer('a', { coordRoot })).toBe(false)
    project.plant('a', '{')
    expect(unregisterServer('a', { coordRoot, pid: process.pid })).toBe(false)
    expect(unregisterServer('a', { coordRoot })).toBe(true)
  })
})

describe('listing', () => {
  it('a server is running until it ends, and then its record is pruned', async () => {
    const { child, pid } = await project.idle()
    const record = register({ pid })
    expect(serverState(record)).toBe('running')
    expect(serverState({ ...record, host: 'elsewhere' })).toBe('other-host')
    await ended(child)
    expect(serverState(record)).toBe('dead')
    expect(listServers({ coordRoot, prune: false })).toMatchObject({ servers: [{ state: 'dead', connections: null }], pruned: [] })
    expect(listServers({ coordRoot })).toMatchObject({ servers: [], pruned: ['a'] })
    expect(existsSync(project.file('a'))).toBe(false)
  })

  it('connections count as use and are written back', async () => {
    if (scanSupport() === 'unsupported') return
    const { pid, port } = await project.listen()
    project.plant('a', planted('a', pid, { port, mine: 1 }))
    const now = new Date('2026-01-01T00:01:00.000Z')
    const client = net.connect(port, '127.0.0.1')
    await new Promise((resolve) => client.once('connect', resolve))
    try {
      expect(listServers({ coordRoot, now, sample: false }).servers[0]).toMatchObject({ connections: 1, idle_ms: 60_000 })
      const report = listServers({ coordRoot, now })
      expect(report).toMatchObject({ schema_version: 1, coord_root: coordRoot, unregistered: [] })
      expect(report.servers[0]).toMatchObject({ connections: 1, idle_ms: 0, last_active_at: now.toISOString(), owner_state: 'none' })
      expect(readServer('a', { coordRoot })).toEqual({ ...planted('a', pid, { port, mine: 1 }), last_active_at: now.toISOString() })
    } finally {
      await new Promise((resolve) => client.once('close', resolve).destroy())
    }
  })

  it('the records of a listing are the caller’s own, in whatever listing', async () => {
    const more = { pids: [process.pid, 7], deep: [{ list: [1, [2]], none: null }], last_active_at: '2026-01-01T00:00:00.000Z' }
    const text = JSON.stringify(planted('a', process.pid, more)).replace('{', '{"__proto__":{"mine":1},')
    project.plant('a', text)
    // One that was changed a moment ago is read again; later ones are remembered.
    for (let round = 0; round < 6; round++) {
      const [{ record } = {} as ServerView] = listServers({ coordRoot, scan: false }).servers
      expect(JSON.stringify(record)).toBe(text)
      expect(Object.getPrototypeOf(record)).toBe(Object.prototype)
      Object.assign(record, { id: 'changed', more: 1 })
      record.pids?.push(8)
      ;(record as unknown as typeof more).deep[0]?.list.push(9)
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    project.plant('a', text.replace('"preview"', '"dashboa"'))
    expect(listServers({ coordRoot, scan: false }).servers[0]?.record.type).toBe('dashboa')
    project.plant('0', planted('0', process.pid))
    const ids = listServers({ coordRoot, scan: false }).servers.map(({ record }) => record.id)
    expect(ids.sort()).toEqual(['0', 'a'])
  })

  it('an unregistered listener is found, adopted and then known', async () => {
    if (scanSupport() === 'unsupported') return
    const { pid, port } = await project.listen()
    const [found] = listServers({ coordRoot }).unregistered
    expect(found).toMatchObject({ pid, port, address: '127.0.0.1', cwd: coordRoot })
    expect(listServers({ coordRoot, scan: false }).unregistered).toEqual([])
    expect(() => adoptServer(process.pid, { coordRoot })).toThrow(
      `pid ${process.pid} is not an unregistered listener inside this project`,
    )
    const record = adoptServer(pid, { coordRoot, owner: 'none' })
    expect(record).toMatchObject({
      id: serverId('adopted', `${coordRoot}#${pid}`), kind: 'session', type: 'adopted', pid, port,
      url: `http://127.0.0.1:${port}/`, cwd: coordRoot, scope: coordRoot,
      label: `Adopted: ${found?.command.slice(0, 80)}`,
    })
    const report = listServers({ coordRoot })
    expect(report.unregistered).toEqual([])
    expect(findUnregisteredListeners(coordRoot, report.servers)).toEqual([])
    expect(findUnregisteredListeners(coordRoot, [])).toEqual([found])
  })

  it('options of the wrong type are TypeErrors', () => {
    expect(() => listServers({ coordRoot, scan: wrong(1) })).toThrow('options.scan must be a boolean, not a number')
    expect(() => listServers({ coordRoot, ownerStaleHours: Number.NaN })).toThrow(RangeError)
    expect(() => listServers(wrong(7))).toThrow(TypeError)
  })
})

describe('ports and configuration', () => {
  it('are the project’s over the user’s, with comments', () => {
    project.configure('{ // ports\n "servers": { "port_ranges": { "web": [7001, 7002] }, "idle_hours": 1.5 /* hours */ } }')
    const user = path.join(coordRoot, 'user')
    mkdirSync(path.join(user, 'harnery'), { recursive: true })
    writeFileSync(path.join(user, 'harnery', 'config.jsonc'), '{"servers":{"idle_hours":3,"owner_stale_hours":4}}')
    const before = process.env['XDG_CONFIG_HOME']
    process.env['XDG_CONFIG_HOME'] = user
    try {
      expect(serverPortRange('web', coordRoot)).toEqual([7001, 7002])
      expect(serverPortRange('api', coordRoot)).toBeNull()
      expect(serverGcConfig(coordRoot)).toEqual({ idle_hours: 1.5, owner_stale_hours: 4 })
      project.configure('{"servers":{"idle_hours":1,}}')
      expect(serverGcConfig(coordRoot)).toEqual({ idle_hours: 3, owner_stale_hours: 4 })
    } finally {
      if (before === undefined) delete process.env['XDG_CONFIG_HOME']
      else process.env['XDG_CONFIG_HOME'] = before
    }
  })

  it('a port is free when nobody listens on it and no running server has it', async () => {
    if (scanSupport() === 'unsupported') return
    const { port } = await project.listen({ host: '::1' })
    project.configure(`{"servers":{"port_ranges":{"web":[${port},${port + 1}]}}}`)
    expect(allocateServerPort('web', { coordRoot })).toBe(port + 1)
    register({ port: port + 1 })
    expect(() => allocateServerPort('web', { coordRoot })).toThrow(`no free port for web in ${port}-${port + 1}`)
    expect(allocateServerPort('api', { coordRoot })).toBeNull()
  })
})

describe('the plan of garbage collection', () => {
  const view = (more: Partial<ServerView>, kind: 'service' | 'session' = 'session'): ServerView => ({
    record: { ...(planted('a', 7) as unknown as ServerRecord), kind },
    state: 'running',
    owner_state: 'ended',
    connections: 0,
    last_active_at: '',
    idle_ms: 2 * 3_600_000,
    ...more,
  })

  it('stops only what is idle and whose agent is gone, and says why', () => {
    expect(planServerGc([
      view({}),
      view({ state: 'dead' }),
      view({}, 'service'),
      view({ owner_state: 'none' }),
      view({ owner_state: 'unknown' }),
      view({ owner_state: 'live' }),
      view({ idle_ms: 1 }),
    ])).toEqual([
      { id: 'a', action: 'stop', reason: 'the starting agent has ended; idle for 120 minutes' },
      { id: 'a', action: 'keep', reason: 'server is dead' },
      { id: 'a', action: 'keep', reason: 'services are only stopped by hand' },
      { id: 'a', action: 'keep', reason: 'no starting agent was recorded' },
      { id: 'a', action: 'keep', reason: 'the starting agent\'s state could not be read' },
      { id: 'a', action: 'keep', reason: 'the starting agent is still active' },
      { id: 'a', action: 'keep', reason: 'used within the last 2h' },
    ])
    expect(planServerGc([view({ owner_state: 'abandoned' })], { idleHours: 0.5, ownerStaleHours: 24 })[0]?.reason).toContain('24h')
    expect(() => planServerGc([], { idleHours: -1 })).toThrow(RangeError)
    expect(() => planServerGc([wrong({})])).toThrow('views[0].record must be an object, not undefined')
  })
})

it('r9 a thousand records are read among everything that is none', () => {
  for (let n = 0; n < 1000; n += 1) project.plant(`good-${n}`, planted(`good-${n}`, NOBODY))
  project.plant('torn', '{"schema_version":1,')
  project.plant('empty', '')
  project.plant('schema', { ...planted('schema', 1), schema_version: 2 })
  mkdirSync(project.file('directory'))
  const report = listServers({ coordRoot, prune: false, scan: false })
  expect(report.servers).toHaveLength(1000)
  expect(listServers({ coordRoot, scan: false }).pruned).toHaveLength(1000)
})

it('a directory that may not be written is a clear error, and listing it still works', () => {
  if (process.getuid?.() === 0) return
  register()
  chmodSync(serversDir(coordRoot), 0o500)
  expect(() => register()).toThrow(expect.objectContaining({ code: 'EACCES' }))
  expect(listServers({ coordRoot }).servers).toHaveLength(1)
  chmodSync(serversDir(coordRoot), 0o700)
})
