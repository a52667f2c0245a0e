// Byte for byte: what the addon writes the harness reads, keeps and writes back, and the reverse.

import { existsSync, lstatSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as native from '../index.js'
import { acquireNoClobberLease as inJavaScript } from './support/harness/leases.mjs'
import * as harness from './support/harness/registry.mjs'
import { DEAD_PID, leaseInput, LONG_AGO, STALE_MS } from './support/mixed/rounds.js'
import { Project } from './support/project.js'
import { effort, rowOfThisBlock } from './support/proof.js'

let project: Project
let coordRoot: string

beforeEach(() => {
  project = new Project()
  coordRoot = project.root
})
afterEach(() => project.remove())

/** How long each end reads while the other writes. */
const RACE_MS = Number(process.env.HARNERY_MIXED_SECONDS ?? effort()) * 1_000
const WHEN = new Date('2031-02-03T04:05:06.789Z')
/** The order of 4.1, and after it what the addon adds. */
const ORDER = [
  'schema_version',
  'id',
  'kind',
  'type',
  'label',
  'url',
  'port',
  'pid',
  'start_token',
  'pids',
  'pids_start_tokens',
  'host',
  'scope',
  'cwd',
  'log',
  'owner',
  'started_at',
  'registered_at',
  'last_active_at',
]
const input = (): native.RegisterServerInput => ({
  id: 'preview-a',
  kind: 'session',
  type: 'preview',
  label: 'Größe \u2028 😀 \ud800',
  url: 'http://127.0.0.1:4000/',
  port: 4_000,
  pids: [process.pid, process.ppid, process.pid],
  scope: 'some/../where',
  cwd: '/tmp',
  log: 'log.txt',
  owner: { instance_id: 'i-1', name: 'one' },
  started_at: '2030-01-01T00:00:00.000Z',
})
const text = () => project.text('preview-a')

describe('server records', () => {
  rowOfThisBlock('the addon and a second implementation: server records, byte for byte')
  it('are the same bytes from both, but for times and what the addon adds', () => {
    native.registerServer(input(), { coordRoot })
    const ours = JSON.parse(text())
    harness.registerServer(input(), { coordRoot })
    const theirs = JSON.parse(text())
    expect(Object.keys(theirs)).toEqual(ORDER)
    expect(Object.keys(ours).filter((key) => ORDER.includes(key))).toEqual(ORDER)
    expect(Object.keys(ours).filter((key) => !ORDER.includes(key)).sort()).toEqual([
      'pids_witnesses',
      'registration_id',
      'witness',
    ])
    const { registered_at: a, last_active_at: b, registration_id: c, witness: d, pids_witnesses: e, ...rest } = ours
    const { registered_at: f, last_active_at: g, ...same } = theirs
    expect(JSON.stringify(rest)).toBe(JSON.stringify(same))
    expect([a, b, f, g].every((time) => new Date(time).toISOString() === time)).toBe(true)
  })

  it('registered by the addon are read by the harness, and its touch keeps every field in its place', () => {
    const written = native.registerServer(input(), { coordRoot })
    const before = text()
    expect(harness.readServer('preview-a', { coordRoot })).toEqual(written)
    expect(before).toBe(`${JSON.stringify(written)}\n`)
    harness.touchServer('preview-a', { coordRoot, now: WHEN })
    expect(text()).toBe(before.replace(/"last_active_at":"[^"]*"/, `"last_active_at":"${WHEN.toISOString()}"`))
    expect(native.readServer('preview-a', { coordRoot })).toEqual({ ...written, last_active_at: WHEN.toISOString() })
  })

  it('registered by the harness are read by the addon, and its touch changes that one field', () => {
    const written = harness.registerServer(input(), { coordRoot })
    const before = text()
    expect(native.readServer('preview-a', { coordRoot })).toEqual(written)
    native.touchServer('preview-a', { coordRoot, now: WHEN })
    expect(text()).toBe(before.replace(/"last_active_at":"[^"]*"/, `"last_active_at":"${WHEN.toISOString()}"`))
    expect(harness.readServer('preview-a', { coordRoot })).toEqual({ ...written, last_active_at: WHEN.toISOString() })
  })

  it('touched by either end as the same bytes, whatever fields, orders and numbers a record has', () => {
    const records = [
      '{"schema_version":1,"id":"preview-a","kind":"session","type":"t","label":"l","pid":7,"host":"h","started_at":"s","registered_at":"r"}',
      '{"later":{"10":1,"a":[1.50,1e21,-0],"2":null},"pid":7.0,"kind":"service","id":"preview-a","schema_version":1e0,"type":"t"}',
      '{"schema_version":1,"id":"preview-a","kind":"session","pid":7,"type":"\\u0041\\ud800\\u2028","7":true,"last_active_at":"x","3":false}',
      ' { "schema_version" : 1 ,\n"id":"preview-a","kind":"session","pid":1,"pid":7,"type":"t","__proto__":5 } ',
    ]
    for (const record of records) {
      const touched = [native.touchServer, harness.touchServer].map((touch) => {
        project.plant('preview-a', record)
        touch('preview-a', { coordRoot, now: WHEN })
        return text()
      })
      expect(touched[0]).toBe(touched[1])
      expect(touched[0]).toContain(WHEN.toISOString())
    }
  })

  it('are listed in the same order by both', () => {
    for (const [id, kind, type] of [
      ['b', 'session', 'Preview'],
      ['a_1', 'service', 'tunnel'],
      ['a-1', 'service', 'tunnel'],
      ['a.1', 'session', 'preview'],
      ['a1', 'session', 'preview'],
      ['c', 'session', 'éclair'],
    ] as const) {
      harness.registerServer({ id, kind, type }, { coordRoot })
    }
    project.plant('torn', '{"schema_version":1')
    project.plant('other', '{"schema_version":2,"id":"other","kind":"session","pid":1}')
    const ids = (records: native.ServerRecord[]) => records.map(({ id }) => id)
    expect(ids(native.readServerRecords({ coordRoot }))).toEqual(ids(harness.readServerRecords({ coordRoot })))
    expect(ids(native.readServerRecords({ coordRoot }))).toHaveLength(6)
  })

  it('have the same ids, tokens and modes', () => {
    for (const [type, scope] of [
      ['Preview', undefined],
      ['--', undefined],
      ['Dash Board', '/srv/Ünïcode App/'],
      ['t', `/srv/${'x'.repeat(60)}`],
      ['t', '.'],
    ] as const) {
      expect(native.serverId(type, scope)).toBe(harness.serverId(type, scope))
    }
    expect(native.processStartToken(process.pid)).toBe(harness.processStartToken(process.pid))
    const modes = [native.registerServer, harness.registerServer].map((register) => {
      register(input(), { coordRoot })
      return lstatSync(project.file('preview-a')).mode
    })
    expect(modes[0]).toBe(modes[1])
  })

  it('r8 are removed by either, and a record of another process by neither', () => {
    for (const [one, other] of [
      [native, harness],
      [harness, native],
    ] as const) {
      one.registerServer(input(), { coordRoot })
      expect(other.unregisterServer('preview-a', { coordRoot, pid: DEAD_PID })).toBe(false)
      expect(other.unregisterServer('preview-a', { coordRoot, pid: process.pid })).toBe(true)
      expect(one.readServer('preview-a', { coordRoot })).toBeNull()
    }
    expect(readdirSync(harness.serversDir(coordRoot)).filter((name) => name.includes('preview'))).toEqual([])
  })
})

describe('r7 a record that one end replaces over and over', () => {
  rowOfThisBlock('the addon and a second implementation: server records, read by one end while the other replaces them')
  it.each([
    ['the harness', 'the addon', './support/harness/registry.mjs', native.readServer],
    ['the addon', 'the harness', '../index.js', harness.readServer],
  ])('by %s is one whole record each time that %s reads it', async (_, __, writer, read) => {
    const module = new URL(writer, import.meta.url).href
    const script = `import(${JSON.stringify(module)}).then(({ registerServer, touchServer }) => {
      const options = { coordRoot: ${JSON.stringify(coordRoot)} }
      const register = (turn) => registerServer({ id: 'a', kind: 'session', type: 't', label: 'x'.repeat(turn % 2 ? 9 : 9000) }, options)
      register(0)
      console.log('ready')
      for (let turn = 1; ; turn++) turn % 3 ? touchServer('a', options) : register(turn)
    })`
    await project.start(script)
    const lengths = new Set<number>()
    const until = Date.now() + RACE_MS
    for (let reads = 0; Date.now() < until || reads < 100; reads++) {
      const record = read('a', { coordRoot })
      lengths.add(record?.label.length ?? -1)
    }
    expect([...lengths].sort()).toEqual([9, 9_000])
  })
})

describe('owner files', () => {
  rowOfThisBlock('the addon and a second implementation: owner files and claims, byte for byte')
  let lease: string
  const owners = () =>
    readdirSync(lease)
      .filter((name) => name.startsWith('owner-'))
      .map((name) => readFileSync(path.join(lease, name), 'utf8'))

  beforeEach(() => {
    lease = path.join(mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'owners-')), 'w.lease')
  })
  afterEach(() => rmSync(path.dirname(lease), { recursive: true, force: true }))

  it('are the same text from both; the addon adds its witness at the end', () => {
    const metadata = { run: 'Ö\u2028', b: '', 'a.b': 'x'.repeat(1_000) }
    const now = () => LONG_AGO + 0.75
    const take = { ...leaseInput(lease), metadata, now }
    const ours = native.acquireNoClobberLease(take)
    const [our] = owners() as [string]
    ours.release()
    const theirs = inJavaScript(take)
    const [their] = owners() as [string]
    theirs.release()
    const { witness, ...rest } = JSON.parse(our)
    expect(Object.keys(witness)).not.toEqual([])
    expect(Object.keys(JSON.parse(our)).at(-1)).toBe('witness')
    const anonymous = (owner: object) => JSON.stringify(owner).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '*')
    expect(`${anonymous(rest)}\n`).toBe(their.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '*'))
    expect(our).toBe(`${JSON.stringify(JSON.parse(our))}\n`)
  })

  it.each([
    ['the addon', 'the harness', native.acquireNoClobberLease, inJavaScript],
    ['the harness', 'the addon', inJavaScript, native.acquireNoClobberLease],
  ])('of %s are refused, and replaced once they are dead, by %s, which reports every field', (_, __, first, second) => {
    const live = first({ ...leaseInput(lease), metadata: { run: '7' } })
    expect(() => second(leaseInput(lease))).toThrow('is held by a live or unexpired owner')
    live.release()
    const dead = first({ ...leaseInput(lease), metadata: { run: '7' }, pid: DEAD_PID, now: () => LONG_AGO })
    const text = readFileSync(path.join(lease, 'current'), 'utf8')
    const held = second({ ...leaseInput(lease), now: () => LONG_AGO + STALE_MS })
    expect(`${JSON.stringify(held.recovered_owner)}\n`).toBe(text)
    expect(() => dead.release()).toThrow('lease workspace ownership changed')
    held.release()
  })

  it.each([
    ['the addon', 'the harness', native.acquireNoClobberLease, inJavaScript],
    ['the harness', 'the addon', inJavaScript, native.acquireNoClobberLease],
  ])('in a claim of %s that ended are cleared by %s', (_, __, first, second) => {
    const dead = first({ ...leaseInput(lease), pid: DEAD_PID, now: () => LONG_AGO })
    const crash = () =>
      first({
        ...leaseInput(lease),
        pid: DEAD_PID,
        now: () => LONG_AGO + STALE_MS,
        onRecoveryStep: () => {
          throw new Error('ended here')
        },
      })
    expect(crash).toThrow('ended here')
    const claim = readFileSync(path.join(lease, 'recovery', 'claim.json'), 'utf8')
    expect(claim).toBe(`${JSON.stringify(JSON.parse(claim))}\n`)
    expect(Object.keys(JSON.parse(claim))).toEqual([
      'schema_version',
      'claimant',
      'observed_owner',
      'observed_sha256',
      'created_at',
    ])
    second(leaseInput(lease)).release()
    expect(readdirSync(lease)).toEqual([])
    expect(() => dead.release()).toThrow()
  })

  it('with fields of a later version are understood by both', () => {
    for (const read of [native.acquireNoClobberLease, inJavaScript]) {
      inJavaScript({ ...leaseInput(lease), pid: DEAD_PID, now: () => LONG_AGO })
      const current = path.join(lease, 'current')
      const text = readFileSync(current, 'utf8').replace('{', '{"later":{"10":1,"a":1e21,"2":"\\ud800"},')
      writeFileSync(current, text)
      const held = read(leaseInput(lease))
      expect(held.recovered_owner).toEqual(JSON.parse(text))
      held.release()
    }
  })
})
