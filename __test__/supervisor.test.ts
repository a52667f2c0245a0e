import { spawn } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { processStartToken, readSupervisorStatus, requestSupervisorStop, supervisorPaths } from '../index.js'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean()
})

function scratch(): string {
  const root = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'supervisor-'))
  cleanups.push(() => rmSync(root, { recursive: true, force: true }))
  return root
}

function idle() {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })
  cleanups.push(() => child.kill('SIGKILL'))
  return child
}

function write(root: string, pid: number, more: object = {}) {
  const record = {
    schema_version: 1,
    pid,
    start_token: processStartToken(pid) ?? undefined,
    host: os.hostname(),
    nonce: 'n',
    state: 'running',
    heartbeat_at: new Date().toISOString(),
    keep_alive: true,
    more: { kept: [1] },
    ...more,
  }
  mkdirSync(supervisorPaths(root).root, { recursive: true })
  writeFileSync(supervisorPaths(root).service, JSON.stringify(record))
  return JSON.parse(JSON.stringify(record))
}

it('the paths are the harness’s', () => {
  const root = '/p/.harnery/supervisor'
  const paths = { root, service: `${root}/service.json`, lease: `${root}/service.lease.json`, stop: `${root}/stop.json`, snapshot: `${root}/snapshot.json` }
  expect(supervisorPaths('/p')).toStrictEqual(paths)
  expect(supervisorPaths('/q/../p/')).toStrictEqual(paths)
})

describe('the status', () => {
  it('of a living process with a fresh heartbeat is running', () => {
    const root = scratch()
    const { service: status_path, snapshot: snapshot_path } = supervisorPaths(root)
    expect(readSupervisorStatus(root)).toStrictEqual({ running: false, stale: false, status_path, snapshot_path })
    const record = write(root, process.pid)
    expect(readSupervisorStatus(root)).toStrictEqual({ running: true, stale: false, record, status_path, snapshot_path })
    const at = (ms: number) => readSupervisorStatus(root, Date.parse(record.heartbeat_at) + ms)
    expect(at(15_000)).toMatchObject({ running: true, stale: false })
    expect(at(15_001.5)).toMatchObject({ running: false, stale: true })
  })

  it('of another host, state, generation or pid is not running', () => {
    const root = scratch()
    for (const more of [{ host: 'elsewhere' }, { state: 'stopped' }, { start_token: 'l00000000.1' }, { pid: 4_194_305 }, { pid: 2 ** 40 }]) {
      write(root, process.pid, more)
      expect(readSupervisorStatus(root)).toMatchObject({ running: false, stale: false })
    }
  })

  it('takes a time that a Date can hold', () => {
    for (const now of [Number.NaN, Number.POSITIVE_INFINITY, 9e15]) expect(() => readSupervisorStatus(scratch(), now)).toThrow(RangeError)
    expect(() => readSupervisorStatus(scratch(), '1' as never)).toThrow('nowMs must be a number, not a string')
  })
})

describe('a request to stop', () => {
  it('is on disk, and a signal to the process', async () => {
    const root = scratch()
    const child = idle()
    write(root, child.pid as number)
    const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
    const result = requestSupervisorStop(root)
    expect(result.stop.signal).toStrictEqual({ sent: true, verdict: 'same' })
    expect(await ended).toBe('SIGTERM')
    const { stop } = supervisorPaths(root)
    expect(readFileSync(stop, 'utf8')).toBe(`${JSON.stringify({ requested_at: result.stop.requested_at, requested_by_pid: process.pid })}\n`)
    expect(lstatSync(stop).mode & 0o7777).toBe(0o600)
    expect(readdirSync(path.dirname(stop)).sort()).toEqual(['service.json', 'stop.json'])
    expect(readSupervisorStatus(root).running).toBe(false)
  })

  it('is on disk also when there is nobody to signal', () => {
    const root = scratch()
    const result = requestSupervisorStop(root, {})
    expect(result).toMatchObject({ running: false, stop: { signal: null } })
    expect(existsSync(supervisorPaths(root).stop)).toBe(true)
  })

  it('never signals another generation', () => {
    const root = scratch()
    const child = idle()
    write(root, child.pid as number, { start_token: undefined })
    expect(requestSupervisorStop(root).stop.signal).toStrictEqual({ sent: false, verdict: 'unknown' })
    write(root, child.pid as number)
    const readToken = () => `${processStartToken(child.pid as number)}0`
    expect(requestSupervisorStop(root, { readToken }).stop.signal).toBeNull()
    expect(child.exitCode).toBeNull()
  })

  it('goes through the functions that the caller supplies', () => {
    const root = scratch()
    write(root, 4_194_305, { start_token: 't' })
    const seen: unknown[] = []
    const dependencies = {
      probePid: (pid: number) => { seen.push(['probe', pid]); return true },
      readToken: (pid: number) => { seen.push(['token', pid]); return 't' },
      kill: (pid: number, signal: string) => { seen.push(['kill', pid, signal, existsSync(supervisorPaths(root).stop)]) },
    }
    expect(requestSupervisorStop(root, dependencies).stop.signal).toStrictEqual({ sent: true, verdict: 'same' })
    expect(seen).toContainEqual(['kill', 4_194_305, 'SIGTERM', true])
    expect(seen).toContainEqual(['probe', 4_194_305])
    const throwing = { ...dependencies, kill: () => { throw new Error('no') } }
    expect(requestSupervisorStop(root, throwing).stop.signal).toStrictEqual({ sent: false, verdict: 'same' })
    expect(() => requestSupervisorStop(root, { kill: 1 as never })).toThrow('dependencies.kill must be a function, not a number')
  })
})
