import { readFileSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type AcquireNoClobberLeaseInput,
  acquireNoClobberLease,
  holdsNoClobberLease,
  inspectNoClobberLease,
  type LeaseRecoveryStep,
  type NoClobberLease,
} from '../index.js'
import { deadPid, LeaseScene, longAgo, refusal, staleAfterMs, thrownBy } from './support/lease.js'

let scene: LeaseScene

beforeEach(() => {
  scene = new LeaseScene()
})

afterEach(() => scene.remove())

const wrong = (value: unknown) => value as never

describe('a lease', () => {
  it('is a hard link to an owner file of one line, the harness fields first and in order', () => {
    const lease = acquireNoClobberLease(scene.input({ metadata: { run: 'r1', '7': 'x' } }))
    expect(scene.names()).toEqual(['current', lease.owner.owner_file])
    const text = readFileSync(path.join(scene.path, 'current'), 'utf8')
    expect(text.endsWith('}\n')).toBe(true)
    expect(lease.owner).toEqual(JSON.parse(text))
    expect(Object.keys(lease.owner)).toEqual([
      'schema_version',
      'owner_id',
      'owner_file',
      'scope',
      'authority_sha256',
      'metadata',
      'pid',
      'host',
      'created_at',
      'expires_at',
      'witness',
    ])
    expect(text).toBe(`${JSON.stringify(lease.owner)}\n`)
    expect(lease.owner).toMatchObject({ pid: process.pid, host: os.hostname(), metadata: { 7: 'x', run: 'r1' } })
    expect(Date.parse(lease.owner.expires_at) - Date.parse(lease.owner.created_at)).toBe(staleAfterMs)
    expect(statSync(scene.path).mode & 0o777).toBe(0o700)
    expect(statSync(path.join(scene.path, 'current')).mode & 0o777).toBe(0o600)
    lease.release()
    expect(scene.names()).toEqual([])
  })

  it('keeps lone surrogates in its metadata as JSON does', () => {
    const lease = acquireNoClobberLease(scene.input({ metadata: { half: 'a\ud800' } }))
    expect(lease.owner.metadata).toEqual({ half: 'a\ud800' })
    expect(scene.current().metadata).toEqual({ half: 'a\ud800' })
    lease.release()
  })

  it('is a plain object: spread, taken apart, released again', () => {
    const lease = acquireNoClobberLease(scene.input())
    expect(Object.keys(lease)).toEqual(['owner', 'release'])
    expect(holdsNoClobberLease(lease)).toBe(true)
    const { release } = { ...lease }
    release()
    release()
    lease.release()
    expect(holdsNoClobberLease(lease)).toBe(false)
    expect(scene.names()).toEqual([])
  })

  it('is disposed of where the runtime has Symbol.dispose', () => {
    const lease = acquireNoClobberLease(scene.input()) as NoClobberLease & Disposable
    const copy = { ...lease }
    copy[Symbol.dispose]()
    expect(scene.names()).toEqual([])
    copy[Symbol.dispose]()
  })

  it('refuses everyone else with the holder, a reason and a code', () => {
    const lease = acquireNoClobberLease(scene.input())
    const error = refusal(scene.input())
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toMatch(
      /^lease workspace is held by a live or unexpired owner, or its liveness is unknown: unexpired/,
    )
    expect(error).toMatchObject({ code: 'LEASE_HELD', reason: 'unexpired', holder: lease.owner })
    lease.release()
  })

  it('names whom it has replaced', () => {
    const dead = scene.plantHolder()
    const lease = acquireNoClobberLease(scene.input())
    expect(Object.keys(lease)).toEqual(['owner', 'recovered_owner', 'release'])
    expect(lease.recovered_owner).toEqual(dead)
    expect(scene.names()).toEqual(['current', lease.owner.owner_file])
    lease.release()
  })

  it('is lost when a cleaner takes it, and says so once', () => {
    const lease = acquireNoClobberLease(scene.input())
    rmSync(path.join(scene.path, 'current'))
    expect(holdsNoClobberLease(lease)).toBe(false)
    const other = acquireNoClobberLease(scene.input())
    expect(thrownBy(() => lease.release())).toMatchObject({
      code: 'LEASE_LOST',
      message: 'lease workspace ownership changed',
    })
    expect(scene.names()).toEqual(['current', other.owner.owner_file])
    lease.release()
    other.release()
    expect(scene.names()).toEqual([])
  })

  it('takes a relative path from the current directory', () => {
    const lease = acquireNoClobberLease(scene.input({ path: path.relative(process.cwd(), scene.path) }))
    expect(holdsNoClobberLease(lease)).toBe(true)
    lease.release()
  })
})

describe('input', () => {
  it('of a wrong type is a TypeError that names it, before anything is written', () => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ path: 5 }, /input\.path must be a string, not a number/],
      [{ path: 'a\0b' }, /input\.path/],
      [{ scope: null }, /input\.scope must be a string/],
      [{ authoritySha256: undefined }, /input\.authoritySha256 must be a string/],
      [{ staleAfterMs: '1' }, /input\.staleAfterMs must be a number/],
      [{ metadata: { a: 1 } }, /input\.metadata\["a"\] must be a string/],
      [{ metadata: 'x' }, /input\.metadata must be an object/],
      [{ now: 5 }, /input\.now must be a function/],
      [{ probePid: null }, /input\.probePid must be a function/],
      [{ onRecoveryStep: {} }, /input\.onRecoveryStep must be a function/],
      [{ durability: 'none' }, /input\.durability must be "power" or "process"/],
    ]
    for (const [more, message] of cases) {
      const error = refusal({ ...scene.input(), ...(wrong(more) as object) })
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toMatch(message)
    }
    expect(thrownBy(() => acquireNoClobberLease(wrong(undefined)))).toBeInstanceOf(TypeError)
    expect(() => scene.names()).toThrow('ENOENT')
  })

  it('that no reader would take is refused before anything is written', () => {
    const cases: Partial<AcquireNoClobberLeaseInput>[] = [
      { path: path.join(scene.path, '..', '.hidden') },
      { scope: 'a/b' },
      { authoritySha256: 'A'.repeat(64) },
      { staleAfterMs: 0 },
      { staleAfterMs: 1.5 },
      { staleAfterMs: Number.NaN },
      { staleAfterMs: Number.MAX_SAFE_INTEGER },
      { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, ''])) },
      { metadata: { 'a b': '' } },
      { metadata: { a: 'x'.repeat(1001) } },
      { metadata: Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`k${at}`, '€'.repeat(999)])) },
      { pid: 0 },
      { pid: 1.5 },
      { host: '' },
      { now: () => Number.NaN },
      { now: () => 9e15 },
      { now: wrong(() => 'yesterday') },
    ]
    for (const more of cases) {
      expect(refusal(scene.input(more))).toMatchObject({
        code: 'LEASE_INPUT',
        message: expect.stringMatching(/^no-clobber lease input is invalid/),
      })
    }
    expect(() => scene.names()).toThrow('ENOENT')
  })

  it('may stand in for process, host and clock', () => {
    const lease = acquireNoClobberLease(scene.input({ pid: deadPid, host: 'elsewhere', now: () => 1234.9 }))
    expect(lease.owner).toMatchObject({
      pid: deadPid,
      host: 'elsewhere',
      created_at: '1970-01-01T00:00:01.234Z',
      expires_at: '1970-01-01T00:00:02.234Z',
    })
    expect(lease.owner).not.toHaveProperty('witness')
    expect(refusal(scene.input())).toMatchObject({ code: 'LEASE_HELD', reason: 'other-host' })
    lease.release()
  })
})

describe('the functions', () => {
  it('are called at their points, with the input as this', () => {
    const dead = scene.plantHolder()
    const calls: unknown[] = []
    const input = scene.input({
      now() {
        calls.push(['now', this])
        return Date.now()
      },
      probePid(pid: number) {
        calls.push(['probePid', this, pid])
        throw Object.assign(new Error('gone'), { code: 'ESRCH' })
      },
      validateStaleOwner(owner) {
        calls.push(['validateStaleOwner', this, owner])
        return true
      },
      onLeaseDirectoryCreate() {
        calls.push(['onLeaseDirectoryCreate', this])
      },
      onContention() {
        calls.push(['onContention', this])
      },
      onRecoveryStep(step: LeaseRecoveryStep) {
        calls.push([step, this, scene.names().includes('recovery')])
      },
    })
    const lease = acquireNoClobberLease(input)
    expect(calls).toEqual([
      ['now', input],
      ['onLeaseDirectoryCreate', input],
      ['onContention', input],
      ['now', input],
      ['probePid', input, deadPid],
      ['validateStaleOwner', input, dead],
      ['claim_created', input, true],
      ['stale_pinned', input, true],
      ['current_removed', input, true],
      ['new_current_linked', input, true],
      ['recovery_retired', input, false],
      // The sweep asks, too, whether the one who was replaced may be busy.
      ['probePid', input, deadPid],
    ])
    lease.release()
  })

  const cyclic = new Error('cyclic')
  cyclic.cause = cyclic
  const thrown = [new Error('e'), new TypeError('t'), cyclic, Object.freeze(new Error('f')), 'text', 7, undefined, null]

  it('leave the call unchanged when they throw, whatever they throw', () => {
    for (const value of thrown) {
      scene.plantHolder()
      const boom = () => {
        throw value
      }
      const before = scene.names()
      for (const name of ['now', 'validateStaleOwner', 'onLeaseDirectoryCreate', 'onContention'] as const) {
        expect(thrownBy(() => acquireNoClobberLease(scene.input({ [name]: boom })))).toBe(value)
        expect(scene.names()).toEqual(before)
      }
      expect(thrownBy(() => acquireNoClobberLease(scene.input({ onRecoveryStep: boom })))).toBe(value)
      // A crash, as far as the lease can tell.
      expect(scene.names()).toContain('recovery')
      rmSync(scene.path, { recursive: true })
    }
  })

  it('make a probe answer by throwing, and a validator by being truthy', () => {
    const probing = (thrown: unknown) =>
      scene.input({
        probePid: () => {
          throw thrown
        },
      })
    const code = (code: string) => Object.assign(new Error(code), { code })
    scene.plantHolder()
    expect(refusal(scene.input({ probePid: () => {} }))).toMatchObject({ reason: 'alive' })
    expect(refusal(probing(code('EPERM')))).toMatchObject({ reason: 'alive' })
    expect(refusal(probing(code('EIO')))).toMatchObject({ reason: 'unreadable-liveness' })
    expect(refusal(probing('ESRCH'))).toMatchObject({ reason: 'unreadable-liveness' })
    for (const answer of [false, 0, '', null, undefined]) {
      expect(refusal(scene.input({ validateStaleOwner: () => answer as boolean }))).toMatchObject({
        code: 'LEASE_AUTHORITY',
        message: 'stale lease workspace has mismatched authority',
      })
    }
    expect(thrownBy(() => acquireNoClobberLease(scene.input({ validateStaleOwner: (async () => false) as never })))).toMatchObject({
      name: 'TypeError',
      message: 'validateStaleOwner() must be synchronous: nothing waits for the promise that it returned',
    })
    expect(scene.current().owner_id).toBe('planted')
    const lease = acquireNoClobberLease({
      ...probing(code('ESRCH')),
      validateStaleOwner: () => 'yes' as unknown as boolean,
    })
    lease.release()
  })

  it('may call back into the addon, for another lease and for this one', () => {
    scene.plantHolder()
    const other = new LeaseScene()
    const inner: unknown[] = []
    const lease = acquireNoClobberLease(
      scene.input({
        onContention: () => {
          acquireNoClobberLease(other.input()).release()
          inner.push(inspectNoClobberLease(scene.path).state)
        },
        onRecoveryStep: (step) => {
          if (step === 'stale_pinned') inner.push(refusal(scene.input()).code)
        },
      }),
    )
    expect(inner).toEqual(['stale', 'LEASE_RECOVERING'])
    expect(holdsNoClobberLease(lease)).toBe(true)
    lease.release()
    return other.remove()
  })

  it('crash a recovery at any step, and the next contender goes on once the time of the dead is over', () => {
    const steps: LeaseRecoveryStep[] = [
      'claim_created',
      'stale_pinned',
      'current_removed',
      'new_current_linked',
      'recovery_retired',
    ]
    for (const crash of steps) {
      scene.plantHolder()
      const boom = new Error(crash)
      const crashing = scene.input({
        pid: deadPid,
        now: () => longAgo() + 10 * staleAfterMs,
        onRecoveryStep: (step) => {
          if (step === crash) throw boom
        },
      })
      expect(thrownBy(() => acquireNoClobberLease(crashing))).toBe(boom)
      const lease = acquireNoClobberLease(scene.input())
      expect(scene.names()).toEqual(['current', lease.owner.owner_file])
      lease.release()
      expect(scene.names()).toEqual([])
    }
  })
})
