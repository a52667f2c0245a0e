import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { acquireNoClobberLease, acquireNoClobberLeaseAsync, holdsNoClobberLease } from '../index.js'
import { LeaseScene, staleAfterMs } from './support/lease.js'

let scene: LeaseScene

beforeEach(() => {
  scene = new LeaseScene()
})

afterEach(() => scene.remove())

const wrong = (value: unknown) => value as never

describe('waiting', () => {
  it('is one try without waitMs', async () => {
    const lease = acquireNoClobberLease(scene.input())
    await expect(acquireNoClobberLeaseAsync(scene.input())).rejects.toMatchObject({ code: 'LEASE_HELD' })
    lease.release()
    const next = await acquireNoClobberLeaseAsync(scene.input())
    expect(holdsNoClobberLease(next)).toBe(true)
    next.release()
  })

  it('is over as soon as the holder releases', async () => {
    const lease = acquireNoClobberLease(scene.input())
    const waiting = acquireNoClobberLeaseAsync({ ...scene.input(), waitMs: 60_000 })
    expect(scene.names()).toEqual(['current', lease.owner.owner_file])
    lease.release()
    const next = await waiting
    expect(holdsNoClobberLease(next)).toBe(true)
    next.release()
  })

  it('is over as soon as the holder dies, once its time is over', async () => {
    const holder = scene.contender()
    await holder.ask('acquire')
    const now = () => Date.now() + 2 * staleAfterMs
    const waiting = acquireNoClobberLeaseAsync({ ...scene.input({ now }), waitMs: 60_000 })
    await holder.kill()
    const lease = await waiting
    expect(lease.recovered_owner?.pid).toBe(holder.process.pid)
    lease.release()
  })

  it('lets many take turns', async () => {
    const order: number[] = []
    const turns = Array.from({ length: 20 }, async (_, turn) => {
      const lease = await acquireNoClobberLeaseAsync({ ...scene.input(), waitMs: 60_000 })
      expect(scene.current().owner_id).toBe(lease.owner.owner_id)
      order.push(turn)
      lease.release()
    })
    await Promise.all(turns)
    expect(order.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, turn) => turn))
    expect(scene.names()).toEqual([])
  })

  it('ends with the last refusal when its time is over', async () => {
    const lease = acquireNoClobberLease(scene.input())
    await expect(acquireNoClobberLeaseAsync({ ...scene.input(), waitMs: 30 })).rejects.toMatchObject({
      code: 'LEASE_HELD',
      holder: lease.owner,
    })
    lease.release()
  })

  it('rejects with the reason of its signal, before and while it waits', async () => {
    const reason = { why: 'enough' }
    await expect(
      acquireNoClobberLeaseAsync({ ...scene.input(), signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason)
    const lease = acquireNoClobberLease(scene.input())
    const controller = new AbortController()
    const waiting = acquireNoClobberLeaseAsync({ ...scene.input(), waitMs: 60_000, signal: controller.signal })
    controller.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    expect(scene.names()).toEqual(['current', lease.owner.owner_file])
    lease.release()
  })

  it('that is aborted in the middle of a recovery retires the claim and removes the owner file', async () => {
    const dead = scene.plantHolder()
    const bystander = path.join(scene.path, 'owner-bystander.json')
    const living = { ...dead, owner_id: 'bystander', owner_file: 'owner-bystander.json', pid: process.pid }
    writeFileSync(bystander, JSON.stringify(living))
    const before = scene.names()
    const controller = new AbortController()
    const waiting = acquireNoClobberLeaseAsync({ ...scene.input(), signal: controller.signal })
    expect(scene.names()).toContain('recovery')
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
    expect(scene.names()).toEqual(before)
  })

  it('calls the functions on the JavaScript thread and rejects with what they throw', async () => {
    scene.plantHolder()
    const boom = { boom: true }
    const input = {
      ...scene.input(),
      validateStaleOwner() {
        expect(this).toBe(input)
        throw boom
      },
    }
    await expect(acquireNoClobberLeaseAsync(input)).rejects.toBe(boom)
    await expect(acquireNoClobberLeaseAsync(wrong({ ...scene.input(), waitMs: -1 }))).rejects.toBeInstanceOf(RangeError)
    await expect(acquireNoClobberLeaseAsync(wrong({ ...scene.input(), signal: {} }))).rejects.toBeInstanceOf(TypeError)
    await expect(acquireNoClobberLeaseAsync(scene.input({ scope: '.' }))).rejects.toMatchObject({ code: 'LEASE_INPUT' })
  })
})
