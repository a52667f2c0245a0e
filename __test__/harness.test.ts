// The second implementation of leases does what is written down about the harness's steps. Whether the addon lives with
// it is in mixed.test.ts.

import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AcquireNoClobberLeaseInput, LeaseRecoveryStep } from '../index.js'
import { acquireNoClobberLease } from './support/harness/leases.mjs'
import { filesWith } from './support/harness/stepped.mjs'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const LONG_AGO = Date.parse('2020-01-01T00:00:00.000Z')
const STALE_MS = 1_000
/** Above the highest number that Linux or macOS give to a process. */
const DEAD_PID = 4_999_999
const STEPS: LeaseRecoveryStep[] = [
  'claim_created',
  'stale_pinned',
  'current_removed',
  'new_current_linked',
  'recovery_retired',
]

let root: string
let lease: string

beforeEach(() => {
  root = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'harness-'))
  lease = path.join(root, 'workspace.lease')
})

afterEach(() => rmSync(root, { recursive: true, force: true }))

const input = (more: Partial<AcquireNoClobberLeaseInput> = {}): AcquireNoClobberLeaseInput => ({
  path: lease,
  scope: 'workspace',
  authoritySha256: 'a'.repeat(64),
  staleAfterMs: STALE_MS,
  ...more,
})
const take = (more: Partial<AcquireNoClobberLeaseInput> = {}) => acquireNoClobberLease(input(more))
const names = () => readdirSync(lease).sort()
const read = (name: string) => readFileSync(path.join(lease, name), 'utf8')
const deadHolder = () => take({ pid: DEAD_PID, now: () => LONG_AGO })

/** A contender that ended right after one of its steps. */
function deadClaimant(step: LeaseRecoveryStep): void {
  const crash = () =>
    take({
      pid: DEAD_PID,
      now: () => LONG_AGO + STALE_MS,
      onRecoveryStep: (reached) => {
        if (reached === step) throw new Error('crashed')
      },
    })
  expect(crash).toThrow('crashed')
}

describe('a lease that nobody holds', () => {
  it('is a hard link to the own owner file, and both go with the release', () => {
    const held = take({ metadata: { run: '7' } })
    const file = path.join(lease, held.owner.owner_file)
    expect(names()).toEqual(['current', held.owner.owner_file])
    expect(lstatSync(file).ino).toBe(lstatSync(path.join(lease, 'current')).ino)
    expect(lstatSync(file).mode & 0o777).toBe(0o600)
    expect(lstatSync(lease).mode & 0o777).toBe(0o700)
    expect(read('current')).toBe(`${JSON.stringify(held.owner)}\n`)
    expect(Object.keys(held.owner)).toEqual([
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
    ])
    held.release()
    held.release()
    expect(names()).toEqual([])
  })

  it('is taken by the calls that are written down, in their order', () => {
    const calls: string[] = []
    const held = acquireNoClobberLease(
      input(),
      filesWith((call) => {
        // Looks, and the handles of a sync, are not steps.
        if (!/^(openSync [^o]|closeSync|existsSync|lstatSync|readFileSync)/.test(call)) calls.push(call)
      }),
    )
    expect(calls).toEqual([
      `mkdirSync ${path.basename(root)}`,
      'mkdirSync workspace.lease',
      'fsyncSync',
      'openSync owner-*.json',
      'writeFileSync',
      'fsyncSync',
      'fsyncSync',
      'linkSync owner-*.json current',
      'fsyncSync',
    ])
    held.release()
  })

  it('is refused to input that names nothing safe', () => {
    for (const more of [{ scope: '../x' }, { authoritySha256: 'A'.repeat(64) }, { staleAfterMs: 0 }, { staleAfterMs: 1.5 }]) {
      expect(() => take(more)).toThrow(/^no-clobber lease input is invalid$/)
    }
  })
})

describe('a lease that somebody holds', () => {
  const held = 'lease workspace is held by a live or unexpired owner, or its liveness is unknown'

  it('is refused while the holder lives, has not expired, or cannot be asked for', () => {
    take({ now: () => LONG_AGO })
    expect(() => take()).toThrow(held)
    expect(names()).toHaveLength(2)
  })

  it.each([
    ['not expired', { pid: DEAD_PID }],
    ['of another host', { pid: DEAD_PID, now: () => LONG_AGO, host: 'elsewhere' }],
    ['with another stale time', { pid: DEAD_PID, now: () => LONG_AGO, staleAfterMs: 2 * STALE_MS }],
    ['made in the future', { pid: DEAD_PID, now: () => Date.now() + 3_600_000 }],
  ])('is refused when the holder is %s', (_, holder) => {
    take(holder)
    expect(() => take()).toThrow(held)
  })

  it('is refused when the probe fails with anything but ESRCH', () => {
    deadHolder()
    const probe = (code: string) => () => {
      throw Object.assign(new Error(code), { code })
    }
    expect(() => take({ probePid: probe('EPERM') })).toThrow(held)
    expect(() => take({ probePid: probe('EIO') })).toThrow(held)
    expect(take({ probePid: probe('ESRCH') }).recovered_owner?.pid).toBe(DEAD_PID)
  })

  it('is refused to another scope, and where the caller knows the owner not to be its own', () => {
    deadHolder()
    const mismatched = 'has mismatched authority'
    expect(() => take({ scope: 'other' })).toThrow(`stale lease other ${mismatched}`)
    expect(() => take({ validateStaleOwner: () => false })).toThrow(`stale lease workspace ${mismatched}`)
  })

  it('tells a holder that was replaced that its ownership changed', () => {
    const first = deadHolder()
    const second = take()
    expect(() => first.release()).toThrow('lease workspace ownership changed')
    second.release()
  })
})

describe('a holder that is dead', () => {
  it('is replaced in five steps, each with its state on the disk', () => {
    const stale = deadHolder().owner
    const states: [LeaseRecoveryStep, string[]][] = []
    const held = take({
      onRecoveryStep: (step) => {
        const inside = existsSync(path.join(lease, 'recovery')) ? readdirSync(path.join(lease, 'recovery')).sort() : []
        const seen = names().map((name) => name.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '*'))
        states.push([step, [...new Set(seen), ...inside.map((name) => `recovery/${name}`)]])
      },
    })
    expect(states).toEqual([
      ['claim_created', ['current', 'owner-*.json', 'recovery', 'recovery/claim.json']],
      ['stale_pinned', ['current', 'owner-*.json', 'recovery', 'recovery/claim.json', 'recovery/stale-pin']],
      ['current_removed', ['owner-*.json', 'recovery', 'recovery/claim.json', 'recovery/stale-pin']],
      ['new_current_linked', ['current', 'owner-*.json', 'recovery', 'recovery/claim.json', 'recovery/stale-pin']],
      ['recovery_retired', ['current', 'owner-*.json', 'recovery-retired-*']],
    ])
    expect(held.recovered_owner).toEqual(stale)
    expect(names()).toEqual(['current', held.owner.owner_file])
    held.release()
    expect(names()).toEqual([])
  })

  it('is claimed with a text that names both', () => {
    const stale = deadHolder().owner
    const staleText = read('current')
    deadClaimant('claim_created')
    const claim = JSON.parse(read('recovery/claim.json'))
    expect(Object.keys(claim)).toEqual([
      'schema_version',
      'claimant',
      'observed_owner',
      'observed_sha256',
      'created_at',
    ])
    expect(claim.observed_owner).toEqual(stale)
    expect(claim.observed_sha256).toBe(sha256(staleText))
    expect(claim.created_at).toBe(claim.claimant.created_at)
  })

  it.each(STEPS)('is replaced by a later contender when the first ended at %s', (step) => {
    deadHolder()
    deadClaimant(step)
    const held = take()
    expect(names().filter((name) => !name.startsWith('recovery-retired-'))).toEqual(['current', held.owner.owner_file])
    held.release()
  })

  it('is left to a claimant that lives', () => {
    deadHolder()
    expect(() =>
      take({
        onRecoveryStep: () => {
          expect(() => take()).toThrow('lease workspace recovery is already in progress')
          throw new Error('crashed')
        },
      }),
    ).toThrow('crashed')
    expect(() => take()).toThrow('lease workspace recovery is already in progress')
  })
})

describe('what a failing call leaves', () => {
  it('is nothing of its own before its claim, and everything after it', () => {
    deadHolder()
    const before = names()
    expect(() => take({ onContention: () => { throw new Error('no') } })).toThrow('no')
    expect(names()).toEqual(before)
    deadClaimant('stale_pinned')
    expect(names()).toHaveLength(before.length + 2)
  })

  it('is a raced recovery when the pin is not what was judged', () => {
    deadHolder()
    let replaced = false
    const raced = () =>
      acquireNoClobberLease(
        input(),
        filesWith((call) => {
          if (call !== 'linkSync current stale-pin' || replaced) return
          replaced = true
          rmSync(path.join(lease, 'current'))
          writeFileSync(path.join(lease, 'current'), '{}\n')
        }),
      )
    expect(raced).toThrow('lease workspace recovery raced with another contender')
    expect(names().filter((name) => name.startsWith('recovery'))).toEqual([])
  })

  it('is the bare error where a recovery is empty: the harness knows no way on', () => {
    mkdirSync(path.join(lease, 'recovery'), { recursive: true })
    expect(() => take()).toThrow(expect.objectContaining({ code: 'ENOENT' }))
    expect(names()).toEqual(['recovery'])
  })
})
