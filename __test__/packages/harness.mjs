// A small harness with its own tests, as users write them: locks and servers over the addon, in both module systems.

/** What it exports: something to hold and something to stop. */
export const HARNESS = `
import { acquireNoClobberLease, establishedConnectionCounts, registerServer, stopServer } from 'harnery-native'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

function inFolder(use) {
  const root = mkdtempSync(join(tmpdir(), 'runner-'))
  const done = () => rmSync(root, { recursive: true })
  return { root, done, result: use && use(root) }
}

const lock = (root, more) => acquireNoClobberLease({ path: join(root, 'lease'), scope: 'runner', authoritySha256: 'a'.repeat(64), staleAfterMs: 60000, ...more })
const counts = () => establishedConnectionCounts([1])
const stopGone = (root) => stopServer({ ...registerServer({ kind: 'session', type: 'runner' }, { coordRoot: root }), pid: 2 ** 22 + 1, start_token: 'l1' }, { coordRoot: root })

export { inFolder, lock, counts, stopGone }
`

/** The same statements as CommonJS. */
export function asCommonJs(text) {
  return text
    .replace(/^import \{([^}]*)\} from '([^']*)'$/gm, "const {$1} = require('$2')")
    .replace(/^export \{([^}]*)\}$/gm, 'module.exports = {$1}')
}

/** Its tests; what they need from the runner and from the harness is imported first. */
export function suite(imports) {
  return `
${imports}

test('a lease is refused while it is held, with an Error', () => {
  const { root, done } = inFolder()
  const lease = lock(root)
  expect(() => lock(root)).toThrow(Error)
  let refusal
  try { lock(root) } catch (error) { refusal = error }
  expect(refusal).toBeInstanceOf(Error)
  expect(refusal).toMatchObject({ code: 'LEASE_HELD', reason: 'unexpired' })
  lease.release()
  done()
})

test('a wrong argument is a TypeError', () => {
  expect(() => lock('', { staleAfterMs: 'soon' })).toThrow(TypeError)
})

test('counts are a Map', () => {
  expect(counts()).toBeInstanceOf(Map)
})

test('what a callback throws is what is caught', () => {
  const { root, done } = inFolder()
  const mine = new Error('mine')
  let caught
  try { lock(root, { onLeaseDirectoryCreate() { throw mine } }) } catch (error) { caught = error }
  expect(caught).toBe(mine)
  done()
})

test('a promise of the addon is a Promise, and is awaited', async () => {
  const { root, done, result } = inFolder(stopGone)
  expect(result).toBeInstanceOf(Promise)
  expect(await result).toEqual({ id: 'runner', stopped: false, method: 'not-running' })
  done()
})
`
}

/** How many those are. */
export const TESTS = 5
