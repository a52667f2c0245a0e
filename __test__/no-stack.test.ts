import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { scratch } from './support/scratch.js'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Make `call(n)` again and again, right where the stack ends, in a process of its own: how many calls failed with a
 * RangeError, how many of these had got as far as to make `trace(n)`, and of how many `held(n)` is still there.
 */
function whereTheStackEnds(text: { setup?: string; call: string; trace: string; held: string }) {
  const script = `
    const native = require('./index.js')
    const { existsSync } = require('node:fs')
    const base = process.argv[1]
    ${text.setup ?? ''}
    const failed = []
    let n = 0
    function descend() {
      try { descend() } catch {}
      if (n >= 300) return
      const number = n++
      try { ${text.call} } catch (error) { if (error instanceof RangeError) failed.push(number) }
    }
    descend()
    const count = (file) => failed.filter((number) => existsSync(file(number))).length
    console.log(JSON.stringify({ failed: failed.length, begun: count((number) => ${text.trace}), held: count((number) => ${text.held}) }))
  `
  return JSON.parse(execFileSync(process.execPath, ['-e', script, scratch()], { cwd: root, encoding: 'utf8' }))
}

const begunAndLetGo = { failed: expect.any(Number), begun: expect.toSatisfy((count: number) => count > 0), held: 0 }

it('a lease is let go when no handle of it can be made', () => {
  const directory = 'base + "/" + number'
  const input = `{ path: ${directory}, scope: 's', authoritySha256: '0'.repeat(64), staleAfterMs: 1 }`
  expect(
    whereTheStackEnds({
      call: `native.acquireNoClobberLease(${input}).release()`,
      trace: directory,
      held: `${directory} + "/current"`,
    }),
  ).toEqual(begunAndLetGo)
})

it('custody is let go when what it is held for cannot be called', () => {
  const lease = 'base + "/.harnery/servers/.custody/s" + number'
  expect(
    whereTheStackEnds({
      setup: `
        const options = { coordRoot: base }
        const register = (_, n) => native.custody.registerServer({ id: 's' + n, kind: 'session', type: 't', owner: null }, options)
        const records = Array.from({ length: 300 }, register)
        const effect = () => 1`,
      call: 'native.custody.withServerRegistrationCustody(records[number], options, effect)',
      trace: lease,
      held: `${lease} + "/current"`,
    }),
  ).toEqual(begunAndLetGo)
})

it('a resume lock is given back when the function that does it cannot be made', () => {
  const run = 'base + "/.harnery/workflows/r" + number'
  expect(
    whereTheStackEnds({
      call: 'native.acquireWorkflowResumeLease(base, "r" + number)()',
      trace: run,
      held: `${run} + "/resume.lock"`,
    }),
  ).toEqual(begunAndLetGo)
})
