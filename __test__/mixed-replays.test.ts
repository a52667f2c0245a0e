// The harness's own faults, stepped through file call by file call, and what the addon does with what they leave.
//
// Each contender is a process of its own. The names are those of the exploration: D is the dead holder, C a contender that
// ended while it was replacing D, A and B and X live. A stop is reached before the call that it names.

import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { acquireNoClobberLease, inspectNoClobberLease, type AcquireNoClobberLeaseInput } from '../index.js'
import { acquireNoClobberLease as inJavaScript } from './support/harness/leases.mjs'
import { leaseInput, plant } from './support/mixed/rounds.js'
import { Stage, type Stepped } from './support/mixed/stepped.js'
import { rowOfThisBlock } from './support/proof.js'

const TAKE_AWAY = 'renameSync recovery quarantine-*'
const PUBLISH = 'renameSync recovery-claim-* recovery'
const REMOVE_CURRENT = 'unlinkSync current'
const LINK_OWN = 'linkSync owner-*.json current'
const COMPARE_PIN = 'lstatSync current'
const LINKED = 'fsyncSync'

let root: string
let input: AcquireNoClobberLeaseInput
let stage: Stage

beforeEach(() => {
  root = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'replays-'))
  // The stale time is short: whoever is ended here may be replaced a moment later.
  input = { ...leaseInput(path.join(root, 'workspace.lease')), staleAfterMs: 1 }
  stage = new Stage(input)
})

afterEach(async () => {
  await stage.remove()
  rmSync(root, { recursive: true, force: true })
})

const holder = () => JSON.parse(readFileSync(path.join(input.path, 'current'), 'utf8')).owner_id as string
const id = (held: string) => {
  expect(held).toMatch(/^held /)
  return held.slice('held '.length)
}

describe('V1: a late reclaimer takes a living claim', () => {
  rowOfThisBlock('lease, stepped through as processes, V1: a late reclaimer takes a living claim')
  it('two that follow the harness replace one holder, and the first is robbed', async () => {
    plant(input, 'claim_created')
    const b = await stage.start('javascript', TAKE_AWAY, REMOVE_CURRENT)
    expect(b.first).toBe(`at ${TAKE_AWAY}`)
    // A clears the claim of C, judges D dead, publishes its own claim, pins, checks twice.
    const a = await stage.start('javascript', REMOVE_CURRENT)
    expect(a.first).toBe(`at ${REMOVE_CURRENT}`)
    // B had judged the claim of C: what it takes is A's. It goes as far as A is.
    expect(await b.goOn()).toBe(`at ${REMOVE_CURRENT}`)
    const first = id(await a.goOn())
    expect(holder()).toBe(first)
    // B removes A's link and links itself; its claim is gone, A retired it.
    expect(await b.goOn()).toMatch(/^refused ENOENT /)
    expect(holder()).not.toBe(first)
    expect(await a.release()).toBe('refused - lease workspace ownership changed')
    // The lease belongs to a living process whose call failed, and A left its owner file. The addon outlasts both.
    expect(() => acquireNoClobberLease(input)).toThrow(expect.objectContaining({ code: 'LEASE_HELD', reason: 'alive' }))
    await b.kill()
    expect(() => acquireNoClobberLease(input)).toThrow(expect.objectContaining({ code: 'LEASE_RECOVERING' }))
    await a.kill()
    afterwardsTheAddonAcquires()
  })

  it('three that follow the harness: two handles at once', async () => {
    plant(input, 'claim_created')
    const b = await stage.start('javascript', TAKE_AWAY, REMOVE_CURRENT)
    const a = await stage.start('javascript', PUBLISH, REMOVE_CURRENT)
    // X looks while there is no claim.
    const x = await stage.start('javascript', PUBLISH, 'claim_created')
    expect([a.first, b.first, x.first]).toEqual([`at ${PUBLISH}`, `at ${TAKE_AWAY}`, `at ${PUBLISH}`])
    expect(await a.goOn()).toBe(`at ${REMOVE_CURRENT}`)
    expect(await b.goOn()).toBe(`at ${REMOVE_CURRENT}`)
    const first = id(await a.goOn())
    // X publishes; what B retires at its end is X's claim.
    expect(await x.goOn()).toBe('at claim_created')
    const second = id(await b.goOn())
    expect(second).not.toBe(first)
    expect(await a.release()).toBe('refused - lease workspace ownership changed')
    expect(await x.goOn()).toMatch(/^refused ENOENT /)
    expect(await b.release()).toBe('released')
  })

  it('with the addon in the place of A: it finds its claim gone, and takes nothing', async () => {
    plant(input, 'claim_created')
    const b = await stage.start('javascript', TAKE_AWAY)
    const a = await stage.start('native', 'claim_created')
    expect(a.first).toBe('at claim_created')
    // B takes the addon's living claim for C's, and replaces D.
    const only = id(await b.goOn())
    expect(await a.goOn()).toMatch(/^refused LEASE_RECOVERING lease workspace recovery raced with another contender/)
    expect(holder()).toBe(only)
    expect(await b.release()).toBe('released')
    afterwardsTheAddonAcquires()
  })

  it('with the addon in the place of A, and B stopped all the while: it waits, refuses, and takes its claim back', async () => {
    plant(input, 'claim_created')
    const b = await stage.start('javascript', TAKE_AWAY)
    const a = await stage.start('native')
    expect(a.first).toMatch(/^refused LEASE_RECOVERING lease workspace recovery raced with another contender/)
    expect(readdirSync(input.path).filter((name) => name.startsWith('recovery'))).toEqual([])
    expect(await b.goOn()).toMatch(/^refused ENOENT .*recovery/)
    const held = acquireNoClobberLease(input)
    expect(held.recovered_owner?.pid).not.toBe(process.pid)
    held.release()
  })
})

describe('V2: a claimant that ends between linking the pin and comparing it', () => {
  rowOfThisBlock('lease, stepped through as processes, V2: a claimant that ends between linking the pin and comparing it')
  let a: Stepped

  beforeEach(async () => {
    plant(input, 'dead holder')
    const b = await stage.start('javascript', PUBLISH, COMPARE_PIN)
    expect(b.first).toBe(`at ${PUBLISH}`)
    // A replaces D and holds. B publishes its claim on D and pins A.
    a = await stage.start('javascript')
    id(a.first)
    expect(await b.goOn()).toBe(`at ${COMPARE_PIN}`)
    await b.kill()
  })

  it('nobody who follows the harness gets past it, however late', async () => {
    expect(await a.release()).toBe('released')
    const later = () => Date.now() + 365 * 24 * 3_600_000
    for (const now of [Date.now, later]) {
      expect(() => inJavaScript({ ...input, now })).toThrow('stale lease workspace recovery pin is corrupt')
    }
    expect(readdirSync(input.path)).toContain('recovery')
  })

  it('the addon takes it for an unfinished claim and clears it, and the harness gets on too', async () => {
    expect(await a.release()).toBe('released')
    expect(() => inJavaScript(input)).toThrow('recovery pin is corrupt')
    afterwardsTheAddonAcquires()
    inJavaScript(input).release()
    expect(readdirSync(input.path)).toEqual([])
  })

  it('the addon clears it while A holds, and leaves A its lease', async () => {
    expect(() => acquireNoClobberLease(input)).toThrow(expect.objectContaining({ code: 'LEASE_HELD', reason: 'alive' }))
    expect(readdirSync(input.path)).not.toContain('recovery')
    expect(holder()).toBe(id(a.first))
    expect(await a.release()).toBe('released')
    afterwardsTheAddonAcquires()
  })
})

describe('V3: another links into the gap', () => {
  rowOfThisBlock('lease, stepped through as processes, V3: another links into the gap')
  it('the claimant fails and its claim stays while it lives; then the addon goes on', async () => {
    plant(input, 'dead holder')
    // B has looked, and there is no claim.
    const b = await stage.start('javascript', LINK_OWN, LINKED)
    expect(b.first).toBe(`at ${LINK_OWN}`)
    const a = await stage.start('javascript', 'current_removed')
    expect(a.first).toBe('at current_removed')
    expect(await b.goOn()).toBe(`at ${LINKED}`)
    expect(await a.goOn()).toMatch(/^refused EEXIST /)
    // B sees the claim and takes its link back. Nobody holds the lease, and nobody gets it.
    expect(await b.goOn()).toBe('refused - lease workspace recovery is already in progress')
    expect(readdirSync(input.path)).not.toContain('current')
    expect(() => inJavaScript(input)).toThrow('lease workspace recovery is already in progress')
    expect(() => acquireNoClobberLease(input)).toThrow(expect.objectContaining({ code: 'LEASE_RECOVERING' }))
    await a.kill()
    afterwardsTheAddonAcquires()
  })

  it('with the addon in the place of A: it does not open the gap while B may link', async () => {
    plant(input, 'dead holder')
    const b = await stage.start('javascript', LINK_OWN)
    const a = await stage.start('native', 'current_removed')
    expect(a.first).toMatch(/^refused LEASE_RECOVERING lease workspace recovery raced with another contender/)
    // B alone replaces D.
    id(await b.goOn())
    expect(await b.release()).toBe('released')
    afterwardsTheAddonAcquires()
  })
})

/** The lease is free or a dead one's: a fresh native gets it at once, and leaves nothing. */
function afterwardsTheAddonAcquires(): void {
  acquireNoClobberLease(input).release()
  expect(inspectNoClobberLease(input.path)).toMatchObject({ state: 'free', leftovers: 0 })
}
