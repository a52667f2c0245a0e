import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  acquireNoClobberLease,
  inspectNoClobberLease,
  type LeaseRecoveryStep,
  repairNoClobberLease,
} from '../index.js'
import { LeaseScene, refusal, staleAfterMs, thrownBy } from './support/lease.js'

let scene: LeaseScene

beforeEach(() => {
  scene = new LeaseScene()
})

afterEach(() => scene.remove())

const wrong = (value: unknown) => value as never

describe('looking and repairing', () => {
  it('tells the state and changes nothing', () => {
    expect(inspectNoClobberLease(scene.path)).toEqual({
      state: 'free',
      leftovers: 0,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const lease = acquireNoClobberLease(scene.input())
    expect(inspectNoClobberLease(scene.path, { staleAfterMs })).toEqual({
      state: 'held',
      owner: lease.owner,
      liveness: 'unexpired',
      leftovers: 0,
      digest: expect.any(String),
    })
    expect(inspectNoClobberLease(scene.path, { staleAfterMs: 7 })).toMatchObject({ liveness: 'different-stale-after' })
    const now = () => Date.now() + 2 * staleAfterMs
    expect(inspectNoClobberLease(scene.path, { now })).toMatchObject({ state: 'held', liveness: 'alive' })
    const probePid = () => {
      throw Object.assign(new Error(), { code: 'ESRCH' })
    }
    expect(inspectNoClobberLease(scene.path, { now, probePid })).toMatchObject({ state: 'stale', liveness: 'dead' })
    lease.release()
    expect(thrownBy(() => inspectNoClobberLease(wrong(5)))).toBeInstanceOf(TypeError)
  })

  it('shows a claim as it is on disk', () => {
    const dead = scene.plantHolder()
    const seen = inspectInRecovery()
    expect(seen).toMatchObject({
      state: 'recovering',
      owner: dead,
      liveness: 'dead',
      claim: { schema_version: 1, claimant: { pid: process.pid }, observed_owner: dead },
    })
  })

  function inspectInRecovery() {
    let seen: ReturnType<typeof inspectNoClobberLease> | undefined
    const onRecoveryStep = (step: LeaseRecoveryStep) => {
      if (step === 'claim_created') seen = inspectNoClobberLease(scene.path)
    }
    acquireNoClobberLease(scene.input({ onRecoveryStep })).release()
    return seen
  }

  it('moves a torn current aside, with a note, on a digest and somebody’s word', () => {
    acquireNoClobberLease(scene.input()).release()
    writeFileSync(path.join(scene.path, 'current'), 'torn')
    expect(refusal(scene.input())).toMatchObject({ code: 'LEASE_CORRUPT', message: expect.stringContaining(scene.path) })
    const { state, digest } = inspectNoClobberLease(scene.path)
    expect(state).toBe('corrupt')
    const request = { digest, actor: 'me', reason: 'torn' }
    expect(thrownBy(() => repairNoClobberLease(scene.path, { ...request, digest: '0'.repeat(64) }))).toMatchObject({
      code: 'LEASE_INPUT',
    })
    const { moved_to, moved } = repairNoClobberLease(scene.path, request)
    expect(moved).toEqual(['current'])
    expect(JSON.parse(readFileSync(path.join(moved_to, 'repair.json'), 'utf8'))).toMatchObject(request)
    expect(readFileSync(path.join(moved_to, 'current'), 'utf8')).toBe('torn')
    acquireNoClobberLease(scene.input()).release()
    expect(
      thrownBy(() => repairNoClobberLease(scene.path, wrong({ ...request, confirm: 'everything' }))),
    ).toBeInstanceOf(TypeError)
  })

  it('reports a failed system call as Node does', () => {
    writeFileSync(path.join(path.dirname(scene.path), 'file'), '')
    const input = scene.input({ path: path.join(path.dirname(scene.path), 'file', 'x.lease') })
    expect(refusal(input)).toMatchObject({ code: 'ENOTDIR', errno: -os.constants.errno.ENOTDIR, syscall: 'open' })
  })
})
