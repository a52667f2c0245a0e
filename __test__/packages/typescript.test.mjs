// TypeScript finds the types of the installed package, by both ways to resolve modules.

import path from 'node:path'
import { test } from 'node:test'

import { environment, expectRun, folder, root, row, tarballsHere, versionOf } from './world.mjs'

const ESM = `
import { acquireNoClobberLease, listServers, type NoClobberLease, type ServerRecord, SERVER_RECORD_SCHEMA_VERSION } from 'harnery-native'
import { acquireNoClobberLease as byLayout } from 'harnery-native/compat/core/workflow/workspaces/leases'
import { SERVER_RECORD_SCHEMA_VERSION as custodyVersion } from 'harnery-native/compat/0.45.0/core/servers'

const lease: NoClobberLease = acquireNoClobberLease({ path: 'x', scope: 'x', authoritySha256: 'a'.repeat(64), staleAfterMs: 1 })
lease.release()
const records: ServerRecord[] = listServers().servers.map((view) => view.record)
const one: 1 = SERVER_RECORD_SCHEMA_VERSION
const two: 2 = custodyVersion
// @ts-expect-error a path is a string
acquireNoClobberLease({ path: 1, scope: 'x', authoritySha256: 'a'.repeat(64), staleAfterMs: 1 })
export const all = [records, one, two, byLayout === acquireNoClobberLease]
`

const CJS = `
import native = require('harnery-native')
export const token: string | null = native.processStartToken(1)
`

const OPTIONS = { target: 'es2022', strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: ['node'] }
const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc')

for (const [resolution, module, files] of [['NodeNext', 'NodeNext', { 'use.mts': ESM, 'use.cts': CJS }], ['Bundler', 'ESNext', { 'use.ts': ESM }]]) {
  test(`with moduleResolution ${resolution}`, () => {
    const compilerOptions = { ...OPTIONS, module, moduleResolution: resolution }
    const { version } = JSON.parse(expectRun(process.execPath, ['-p', "JSON.stringify(require('@types/node/package.json'))"], { cwd: root }))
    const at = folder(`typed-${resolution.toLowerCase()}`, {
      'package.json': { private: true, type: 'module', devDependencies: { '@types/node': version } },
      'tsconfig.json': { compilerOptions, files: Object.keys(files) },
      ...files,
    })
    const { main, platform } = tarballsHere()
    expectRun('npm', ['install', platform, main, '--loglevel=error'], { cwd: at, env: { ...process.env, ...environment() } })
    expectRun(process.execPath, [tsc, '-p', '.'], { cwd: at })
    row(`TypeScript, ${resolution}`, `${versionOf('TypeScript', tsc)}, @types/node ${version}`)
  })
}
