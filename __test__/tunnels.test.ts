import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { custody, processStartToken, tunnelServerId, tunnelServerInput, type TunnelState } from '../index.js'
import { ended, Project } from './support/project.js'

let project: Project
let coordRoot: string

beforeEach(() => {
  project = new Project()
  coordRoot = project.root
})

afterEach(() => project.remove())

const state = (more: Partial<TunnelState> = {}): TunnelState => ({
  name: 'My Tunnel',
  provider: 'any',
  url: 'https://x.example/',
  gate_pid: process.pid,
  gate_start_token: processStartToken(process.pid) as string,
  gate_port: 8443,
  started_at: '2026-01-01T00:00:00.000Z',
  target: 'http://localhost:3000',
  vhost: null,
  ...more,
})

describe('a tunnel’s registration', () => {
  it('is a service of its gate', () => {
    expect(tunnelServerId('My Tunnel!!x')).toBe('tunnel-my-tunnel-x')
    expect(tunnelServerInput(state(), coordRoot)).toEqual({
      id: 'tunnel-my-tunnel',
      kind: 'service',
      type: 'tunnel',
      label: 'Tunnel My Tunnel → http://localhost:3000',
      url: 'https://x.example/',
      port: 8443,
      pid: process.pid,
      log: path.join(coordRoot, '.cache/tunnel/gate-My Tunnel.log'),
      cwd: coordRoot,
      started_at: '2026-01-01T00:00:00.000Z',
      owner: null,
    })
    const more = tunnelServerInput(state({ name: 'default', vhost: 'v.example' }), coordRoot)
    expect(more).toMatchObject({ label: 'Tunnel default → http://localhost:3000 (v.example)', log: path.join(coordRoot, '.cache/tunnel/gate.log') })
  })

  it('under custody carries the gate’s token and refuses what an older version left', () => {
    const given = state()
    expect(custody.tunnelServerInput(given, coordRoot)).toEqual({
      ...tunnelServerInput(given, coordRoot), start_token: given.gate_start_token,
    })
    for (const member of ['provider_pid', 'provider_start_token']) {
      const old = { ...given, [member]: undefined }
      expect(() => custody.tunnelServerInput(old, coordRoot)).toThrow('obsolete tunnel provider authority is unknown; state retained')
      expect(tunnelServerInput(old, coordRoot)).toMatchObject({ pid: process.pid })
    }
    const { gate_start_token: _, ...without } = given
    for (const missing of [without, state({ gate_start_token: '' })]) {
      expect(() => custody.tunnelServerInput(missing, coordRoot)).toThrow('tunnel gate generation witness is unavailable; state retained')
    }
  })
})

describe('a tunnel’s readiness', () => {
  it('is of a process with the token that was recorded', async () => {
    const { observeProcess } = custody.createTunnelReadinessVerifier({ coordRoot })
    const token = processStartToken(process.pid)
    expect(observeProcess(process.pid, token)).toBe('same')
    expect(observeProcess(process.pid, `${token}0`)).toBe('different')
    expect(observeProcess(process.pid, undefined)).toBe('unknown')
    expect(observeProcess(0, token)).toBe('unknown')
    const { pid, child } = await project.idle()
    await ended(child)
    expect(observeProcess(pid, token)).toBe('absent')
    if (process.getuid?.() !== 0) expect(observeProcess(1, processStartToken(1))).toBe('unknown')
  })

  it('is what is inspected while the registration is held', async () => {
    const verifier = custody.createTunnelReadinessVerifier({ coordRoot })
    const record = custody.registerServer(custody.tunnelServerInput(state(), coordRoot), { coordRoot })
    const now = state({ registration_id: record?.registration_id as string })
    expect(verifier.withRegistration(now, () => {
      expect(() => custody.touchServer('tunnel-my-tunnel', { coordRoot })).toThrow(expect.objectContaining({ code: 'LEASE_HELD' }))
      return 'ready'
    })).toBe('ready')
    custody.touchServer('tunnel-my-tunnel', { coordRoot })
    expect(await verifier.withRegistration(now, async () => 'later')).toBe('later')
    const thrown = { no: 'error' }
    await expect(verifier.withRegistration(now, () => Promise.reject(thrown))).rejects.toBe(thrown)
    custody.touchServer('tunnel-my-tunnel', { coordRoot })
  })

  it('is unknown for anything else', () => {
    const verifier = custody.createTunnelReadinessVerifier({ coordRoot })
    const never = () => {
      throw new Error('never')
    }
    expect(verifier.withRegistration(state(), never)).toBe('unknown')
    const record = custody.registerServer(custody.tunnelServerInput(state(), coordRoot), { coordRoot })
    const registration_id = record?.registration_id as string
    const { gate_start_token: _, ...without } = state({ registration_id })
    for (const other of [
      state(),
      without,
      state({ registration_id, gate_pid: 1 }),
      state({ registration_id, gate_start_token: 'l1' }),
      state({ registration_id, gate_port: 1 }),
      state({ registration_id, url: 'https://y.example/' }),
      state({ registration_id, name: 'other' }),
      {} as TunnelState,
      null as never,
    ]) {
      expect(verifier.withRegistration(other, never)).toBe('unknown')
    }
    expect(verifier.withRegistration(state({ registration_id }), never)).toBe('unknown')
    expect(custody.unregisterServer(record as custody.ServerRecord, { coordRoot })).toBe(true)
    project.plant('tunnel-my-tunnel', '{')
    expect(verifier.withRegistration(state({ registration_id }), never)).toBe('unknown')
  })
})
