import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { residentGrowth } from './support/memory.js'
import {
  ancestry,
  checkPidToken,
  judgeWitness,
  pidAlive,
  processPresence,
  processStartToken,
  processWitness,
  procfsStartToken,
  psStartToken,
  readProcessInfo,
  resetStartTokenCaches,
  signalGroupIfSameGeneration,
  signalIfSameGeneration,
  startTokenProbe,
  tokensAgree,
  verifyProcessGeneration,
} from '../index.js'

const mine = processStartToken(process.pid) as string

/** Numbers that can be no process's. */
const NO_PIDS = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 4294967297]

/** A number that no process of this machine has. */
const NOBODY = 0x7fff_fff0

const noPs = spawnSync('ps').error !== undefined
if (noPs) console.log('left out: there is no ps here')

const children: ChildProcess[] = []

/** A process that does nothing, in a session of its own if it leads. */
function sleeper({ leads = false } = {}) {
  const child = spawn('sleep', ['60'], { detached: leads, stdio: 'ignore' })
  children.push(child)
  return { child, pid: child.pid as number, token: processStartToken(child.pid as number) as string }
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

const throws = (): never => {
  throw new Error('cannot say')
}

describe('a start token', () => {
  it('is the same at every look at the same process', () => {
    expect(mine).toMatch(/^(l([0-9a-f]{8}\.)?\d+|p.+)$/)
    expect(processStartToken(process.pid)).toBe(mine)
  })

  it.each(NO_PIDS)('of pid %s is null', (pid) => {
    expect(processStartToken(pid)).toBeNull()
    expect(procfsStartToken(pid)).toBeNull()
    expect(psStartToken(pid)).toBeNull()
    expect(psStartToken(pid, () => ({ status: 0, stdout: 'Sat\n' }))).toBeNull()
  })

  it('of nobody is null', () => {
    expect(processStartToken(NOBODY)).toBeNull()
    expect(psStartToken(NOBODY)).toBeNull()
  })

  it('of a number that is no number is a TypeError that names the argument', () => {
    const ask = () => processStartToken('1' as unknown as number)
    expect(ask).toThrow(TypeError)
    expect(ask).toThrow('pid must be a number, not a string')
    expect(ask).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }))
  })
})

describe('a probe', () => {
  afterEach(() => {
    delete process.env.HARNERY_PID_PROBE
    resetStartTokenCaches()
  })

  it('is what the machine has, unless HARNERY_PID_PROBE forces it at that call', () => {
    const own = existsSync('/proc/self/stat') ? 'procfs' : 'ps'
    expect(startTokenProbe()).toBe(own)
    process.env.HARNERY_PID_PROBE = 'ps'
    expect(startTokenProbe()).toBe('ps')
    process.env.HARNERY_PID_PROBE = 'procfs'
    expect(startTokenProbe()).toBe('procfs')
    process.env.HARNERY_PID_PROBE = 'sysctl'
    expect(startTokenProbe()).toBe(own)
  })

  it.skipIf(noPs)('of ps works the same on every machine that has ps', () => {
    process.env.HARNERY_PID_PROBE = 'ps'
    const token = processStartToken(process.pid) as string
    expect(token).toMatch(/^p\S/)
    expect(token).toBe(psStartToken(process.pid))
    expect(checkPidToken(process.pid, token)).toBe('match')
    expect(checkPidToken(process.pid, 'pWed Jan  1 00:00:00 2020')).toBe('mismatch')
  })

  it('of ps reads the first line that a given run prints', () => {
    const asked: unknown[] = []
    const run = (...args: unknown[]) => {
      asked.push(...args)
      return { status: 0, stdout: 'Sat Jul 26  2:54:33 2026\nmore\n' }
    }
    expect(psStartToken(1, run)).toBe('pSat Jul 26 2:54:33 2026')
    expect(asked).toEqual([1])
  })

  it('of ps says nothing when the run fails, prints nothing or throws', () => {
    expect(psStartToken(1, () => ({ status: 1, stdout: 'Sat\n' }))).toBeNull()
    expect(psStartToken(1, () => ({ status: null, stdout: 'Sat\n' }))).toBeNull()
    expect(psStartToken(1, () => ({ status: 0, stdout: '  \n' }))).toBeNull()
    expect(psStartToken(1, throws)).toBeNull()
    expect(psStartToken(1, () => ({ status: 0, get stdout() { return throws() } }))).toBeNull()
    expect(psStartToken(1, () => null as never)).toBeNull()
  })
})

describe('presence', () => {
  it('is asked of the machine', async () => {
    const { child, pid } = sleeper()
    expect([processPresence(pid), pidAlive(pid)]).toEqual(['present', true])
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect([processPresence(pid), pidAlive(pid)]).toEqual(['absent', false])
    expect([processPresence(1), pidAlive(1)]).toEqual(['present', true])
  })

  it.each(NO_PIDS)('of pid %s is unknown, and nobody is asked', (pid) => {
    expect(processPresence(pid, throws)).toBe('unknown')
    expect(pidAlive(pid)).toBe(false)
  })

  it('of a mere thread is absent', () => {
    const threads = readdirSync('/proc/self/task').map(Number).filter((id) => id !== process.pid)
    expect(threads.length).toBeGreaterThan(0)
    expect(threads.map((id) => processPresence(id))).toEqual(threads.map(() => 'absent'))
  })

  it('is what probePid answers; a throw, and what is neither yes nor no, is unknown', () => {
    expect(processPresence(7, () => true)).toBe('present')
    expect(processPresence(process.pid, () => false)).toBe('absent')
    expect(processPresence(process.pid, throws)).toBe('unknown')
    expect(processPresence(process.pid, (() => undefined) as never)).toBe('unknown')
    expect(() => processPresence(7, 5 as never)).toThrow('probePid must be a function, not a number')
  })
})

describe('a witness', () => {
  it('is the same only for the process that was seen', () => {
    const { pid } = sleeper()
    const witness = processWitness(pid)
    expect(witness).toMatchObject({ start_token: processStartToken(pid), pid_namespace: expect.stringMatching(/^\d+$/) })
    if (witness === null) return
    expect(judgeWitness(pid, witness)).toBe('same')
    expect(judgeWitness(process.pid, witness)).toBe('different')
    expect(judgeWitness(pid, { ...witness, start_token: 'l00000000.1' })).toBe('gone')
    expect(judgeWitness(pid, { ...witness, pid_namespace: '1' })).toBe('elsewhere')
    expect(judgeWitness(NOBODY, witness)).toBe('gone')
    expect(judgeWitness(pid, {})).toBe('unknown')
  })

  it('of nobody is null, and of a number that is no process\'s unknown', () => {
    expect(processWitness(NOBODY)).toBeNull()
    expect(NO_PIDS.map((pid) => processWitness(pid))).toEqual(NO_PIDS.map(() => null))
    expect(NO_PIDS.map((pid) => judgeWitness(pid, {}))).toEqual(NO_PIDS.map(() => 'unknown'))
    expect(() => judgeWitness(1, { start_token: 5 } as never)).toThrow('witness.start_token must be a string, not a number')
    expect(() => judgeWitness(1, null as never)).toThrow(TypeError)
  })
})

describe('a signal', () => {
  it('reaches the generation that was recorded', async () => {
    const { child, pid, token } = sleeper()
    expect(signalIfSameGeneration(pid, token, 'SIGTERM')).toEqual({ sent: true, verdict: 'same' })
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
  })

  it('reaches nobody else', () => {
    const { pid } = sleeper({ leads: true })
    for (const send of [signalIfSameGeneration, signalGroupIfSameGeneration]) {
      expect(send(pid, 'l0.0', 'SIGKILL')).toEqual({ sent: false, verdict: 'different' })
      expect(send(pid, undefined, 'SIGKILL')).toEqual({ sent: false, verdict: 'unknown' })
      expect(send(pid, '', 'SIGKILL')).toEqual({ sent: false, verdict: 'unknown' })
      expect(send(NOBODY, 'l0.0', 'SIGKILL')).toEqual({ sent: false, verdict: 'unknown' })
    }
    expect(pidAlive(pid)).toBe(true)
  })

  it.each(NO_PIDS)('to pid %s asks nobody and is not sent', (pid) => {
    const dependencies = { readToken: throws, kill: throws }
    expect(signalIfSameGeneration(pid, 'l1', 'SIGTERM', dependencies)).toEqual({ sent: false, verdict: 'unknown' })
    expect(signalGroupIfSameGeneration(pid, 'l1', 'SIGTERM', dependencies)).toEqual({ sent: false, verdict: 'unknown' })
  })

  it('to a group reaches everyone in it', async () => {
    const child = spawn('sh', ['-c', 'sleep 60 & echo $!; wait'], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    children.push(child)
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const [pid, member] = [child.pid as number, Number(String(line))]
    expect(pidAlive(member)).toBe(true)
    expect(signalGroupIfSameGeneration(pid, processStartToken(pid), 'SIGTERM')).toEqual({ sent: true, verdict: 'same' })
    await once(child, 'exit')
    await expect.poll(() => pidAlive(member)).toBe(false)
  })

  it('to a process that leads no group leaves it to the caller to signal the process alone', () => {
    const { pid, token } = sleeper()
    expect(signalGroupIfSameGeneration(pid, token, 'SIGKILL')).toEqual({ sent: false, verdict: 'same' })
    expect(pidAlive(pid)).toBe(true)
  })

  it('goes through the functions that the caller supplies, as members of their object', () => {
    const calls: unknown[] = []
    const dependencies = {
      more: 'ignored',
      readToken(this: unknown, pid: number) {
        calls.push(this === dependencies, pid)
        return 'mine'
      },
      kill(this: unknown, pid: number, signal: string) {
        calls.push(this === dependencies, pid, signal)
      },
    }
    expect(signalIfSameGeneration(7, 'mine', 'SIGTERM', dependencies)).toEqual({ sent: true, verdict: 'same' })
    expect(signalGroupIfSameGeneration(7, 'mine', 'SIGHUP', dependencies)).toEqual({ sent: true, verdict: 'same' })
    expect(calls).toEqual([true, 7, true, 7, 'SIGTERM', true, 7, true, -7, 'SIGHUP'])
    expect(signalIfSameGeneration(7, 'mine', 'SIGTERM', { ...dependencies, kill: throws })).toEqual({ sent: false, verdict: 'same' })
    expect(signalIfSameGeneration(7, 'other', 'SIGTERM', dependencies)).toEqual({ sent: false, verdict: 'different' })
    expect(signalIfSameGeneration(7, 'mine', 'SIGTERM', { readToken: throws, kill: throws })).toEqual({ sent: false, verdict: 'unknown' })
  })

  it('of no known name is a TypeError before anything happens', () => {
    for (const name of ['SIGNAL', 'SIGRTMIN', 'sigterm', 'TERM', '']) {
      const send = () => signalIfSameGeneration(process.pid, mine, name as never, { kill: throws })
      expect(send).toThrow(expect.objectContaining({ name: 'TypeError', code: 'ERR_UNKNOWN_SIGNAL' }))
    }
    expect(() => signalIfSameGeneration(process.pid, mine, 15 as never)).toThrow('signal must be a string, not a number')
    expect(() => signalIfSameGeneration(7, 'l1', 'SIGTERM', { kill: null } as never)).toThrow('dependencies.kill must be a function, not null')
  })

  it('has every name that Node has for it', async () => {
    const { constants } = await import('node:os')
    const names = Object.keys(constants.signals) as NodeJS.Signals[]
    const sent: string[] = []
    const dependencies = { readToken: () => 'mine', kill: (_: number, name: string) => void sent.push(name) }
    for (const name of names) signalIfSameGeneration(7, 'mine', name, dependencies)
    const numbers = sent.map((name) => constants.signals[name as NodeJS.Signals])
    expect(numbers).toEqual(names.map((name) => constants.signals[name]))
  })
})

describe('information', () => {
  it('names the command, the parent and the directory', async () => {
    const { pid } = sleeper()
    await expect.poll(() => readProcessInfo(pid)?.command).toBe('sleep 60')
    expect(readProcessInfo(pid)).toEqual({ pid, ppid: process.pid, command: 'sleep 60', cwd: process.cwd() })
    expect(readProcessInfo(process.pid)?.command).toBe(
      readFileSync('/proc/self/cmdline', 'utf8').replaceAll('\0', ' ').trim(),
    )
  })

  it('of nobody is null', () => {
    expect([NOBODY, ...NO_PIDS].map((pid) => readProcessInfo(pid))).toEqual([NOBODY, ...NO_PIDS].map(() => null))
  })

  it('lists the parents, nearest first', () => {
    const { pid } = sleeper()
    const chain = ancestry(pid)
    expect(chain.slice(0, 3)).toEqual([pid, process.pid, process.ppid])
    expect(chain).not.toContain(1)
    expect(ancestry(pid, 2)).toEqual([pid, process.pid])
    expect([0, -1, Number.NaN].map((hops) => ancestry(pid, hops))).toEqual([[], [], []])
    expect(ancestry(1)).toEqual([])
    expect(ancestry(NOBODY)).toEqual([NOBODY])
    expect(NO_PIDS.map((pid) => ancestry(pid))).toEqual(NO_PIDS.map(() => []))
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
