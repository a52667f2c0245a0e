import { describe, expect, it } from 'vitest'
import { residentGrowth } from './support/memory.js'
import { checkPidToken, processStartToken, tokensAgree, verifyProcessGeneration } from '../index.js'

const mine = processStartToken(process.pid) as string

describe('a start token', () => {
  it('is the same at every look at the same process', () => {
    expect(mine).toMatch(/^(l([0-9a-f]{8}\.)?\d+|p.+)$/)
    expect(processStartToken(process.pid)).toBe(mine)
  })

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 4294967297])('of pid %s is null', (pid) => {
    expect(processStartToken(pid)).toBeNull()
  })

  it('of a number that is no number is a TypeError that names the argument', () => {
    const ask = () => processStartToken('1' as unknown as number)
    expect(ask).toThrow(TypeError)
    expect(ask).toThrow('pid must be a number, not a string')
    expect(ask).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }))
  })
})

it('tokens agree when one of them is from before boot parts', () => {
  expect(tokensAgree('l12345678.99', 'l99')).toBe(true)
  expect(tokensAgree('l12345678.99', 'l87654321.99')).toBe(false)
})

it('a recorded token is checked against the process that has the number now', () => {
  expect(checkPidToken(process.pid, mine)).toBe('match')
  expect(checkPidToken(process.pid, 'l00000000.1')).toBe('mismatch')
  expect(checkPidToken(process.pid, null)).toBe('unverified')
})

describe('a generation', () => {
  it('is the same only on exact equality', () => {
    expect(verifyProcessGeneration(process.pid, mine)).toBe('same')
    expect(verifyProcessGeneration(process.pid, `${mine}0`)).toBe('different')
    expect(verifyProcessGeneration(process.pid, undefined)).toBe('unknown')
  })

  it('is judged by the readToken that the caller supplies', () => {
    const asked: unknown[] = []
    const readToken = function (this: unknown, ...args: unknown[]) {
      asked.push(this, ...args)
      return 'mine'
    }
    expect(verifyProcessGeneration(7, 'mine', readToken)).toBe('same')
    expect(asked).toEqual([undefined, 7])
  })

  it('is unknown when readToken throws', () => {
    const verdict = verifyProcessGeneration(7, 'mine', () => {
      throw new Error('cannot say')
    })
    expect(verdict).toBe('unknown')
  })

  it('asks nobody when readToken is no function', () => {
    const ask = () => verifyProcessGeneration(7, 'mine', null as never)
    expect(ask).toThrow(TypeError)
    expect(ask).toThrow('readToken must be a function, not null')
  })
})

it('a million start tokens leave the resident size where it was', { timeout: 120_000 }, () => {
  const growth = residentGrowth(
    1_000_000,
    `for (let i = 0; i < times; i++) {
      native.processStartToken(process.pid)
      if (i % 10_000 === 0) await turn()
    }`,
  )
  expect(growth).toBeLessThan(8)
})
