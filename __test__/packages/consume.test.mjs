// The installed package as its users compile it and test with it.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { environment, expectRun, folder, root, tarballs } from './world.mjs'

function consumer(name, { type = 'commonjs', dependencies = {}, files = {} }) {
  const at = folder(name, { 'package.json': { name, private: true, type, dependencies }, ...files })
  const env = { ...process.env, npm_config_audit: 'false', npm_config_fund: 'false' }
  expectRun('npm', ['install', ...tarballs(), '--loglevel=error'], { cwd: at, env })
  return at
}

const TYPED = `
import { acquireNoClobberLease, listServers, type NoClobberLease, type ServerRecord, SERVER_RECORD_SCHEMA_VERSION } from 'harnery-native'
import { acquireNoClobberLease as byLayout } from 'harnery-native/compat/core/workflow/workspaces/leases'
import { SERVER_RECORD_SCHEMA_VERSION as custodyVersion } from 'harnery-native/compat/0.45.0/core/servers'

const lease: NoClobberLease = acquireNoClobberLease({ path: 'x', scope: 'x', authoritySha256: 'a'.repeat(64), staleAfterMs: 1 })
lease.release()
const records: ServerRecord[] = listServers().servers.map((view) => view.record)
const one: 1 = SERVER_RECORD_SCHEMA_VERSION
const two: 2 = custodyVersion
export const all = [records, one, two, byLayout === acquireNoClobberLease]
`

for (const [resolution, module] of [['NodeNext', 'NodeNext'], ['Bundler', 'ESNext']]) {
  test(`TypeScript finds the types with moduleResolution ${resolution}`, () => {
    const at = consumer(`typed-${resolution.toLowerCase()}`, {
      type: 'module',
      files: {
        'use.ts': TYPED,
        'tsconfig.json': { compilerOptions: { module, moduleResolution: resolution, target: 'es2022', strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: [] }, files: ['use.ts'] },
      },
    })
    const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    expectRun(process.execPath, [tsc, '-p', '.'], { cwd: at })
  })
}

/** As a harness's own tests use it. */
function suite(imports) {
  return `
${imports}

test('a lease is refused while it is held, with an Error', () => {
  const root = mkdtempSync(join(tmpdir(), 'runner-'))
  const input = { path: join(root, 'lease'), scope: 'runner', authoritySha256: 'a'.repeat(64), staleAfterMs: 60000 }
  const lease = acquireNoClobberLease(input)
  expect(() => acquireNoClobberLease(input)).toThrow(Error)
  let refusal
  try { acquireNoClobberLease(input) } catch (error) { refusal = error }
  expect(refusal).toBeInstanceOf(Error)
  expect(refusal).toMatchObject({ code: 'LEASE_HELD', reason: 'unexpired' })
  lease.release()
  rmSync(root, { recursive: true })
})

test('counts are a Map', () => {
  expect(establishedConnectionCounts([1])).toBeInstanceOf(Map)
})

test('what a callback throws is what is caught', () => {
  const root = mkdtempSync(join(tmpdir(), 'runner-'))
  const mine = new Error('mine')
  expect(() => acquireNoClobberLease({ path: join(root, 'lease'), scope: 'runner', authoritySha256: 'a'.repeat(64), staleAfterMs: 1, onLeaseDirectoryCreate() { throw mine } })).toThrow(mine)
  rmSync(root, { recursive: true })
})

test('a promise of the addon is awaited', async () => {
  const root = mkdtempSync(join(tmpdir(), 'runner-'))
  const record = registerServer({ kind: 'session', type: 'runner' }, { coordRoot: root })
  const gone = { ...record, pid: 2 ** 30, start_token: 'l1' }
  expect(await stopServer(gone, { coordRoot: root })).toEqual({ id: 'runner', stopped: false, method: 'not-running' })
  rmSync(root, { recursive: true })
})
`
}

const NODE_ESM = `
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acquireNoClobberLease, establishedConnectionCounts, registerServer, stopServer } from 'harnery-native'
`
const NODE_CJS = NODE_ESM.replace(/import \{([^}]*)\} from '([^']*)'/g, "const {$1} = require('$2')")

test('Vitest runs a harness\'s tests over it, in forks and in threads', () => {
  const at = consumer('with-vitest', {
    type: 'module',
    dependencies: { vitest: '4.1.12' },
    files: { 'use.test.ts': suite(`import { expect, test } from 'vitest'\n${NODE_ESM}`) },
  })
  for (const pool of ['forks', 'threads']) {
    const said = expectRun(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--pool', pool], { cwd: at })
    assert.match(said, /4 passed/)
  }
})

test('Jest runs a harness\'s tests over it, as CommonJS and as ES modules', () => {
  const at = consumer('with-jest', {
    dependencies: { jest: '30.5.2' },
    files: {
      'jest.config.cjs': "module.exports = { testEnvironment: 'harnery-native/jest-environment', testMatch: ['**/*.test.cjs', '**/*.test.mjs'], moduleFileExtensions: ['js', 'cjs', 'mjs'], transform: {}, watchman: false }\n",
      'use.test.cjs': suite(NODE_CJS),
      'use.test.mjs': suite(NODE_ESM),
    },
  })
  expectRun(process.execPath, ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--ci'], { cwd: at, env: { ...environment(), NODE_OPTIONS: '' } })
})
