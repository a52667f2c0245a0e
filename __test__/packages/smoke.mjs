// What every runtime does with the installed package.

/** As an ES module, with named imports. */
export const ESM = `
import { acquireNoClobberLease, listServers, processStartToken, registerServer, unregisterServer } from 'harnery-native'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'

const root = mkdtempSync(join(tmpdir(), 'smoke-'))
try {
  const lease = acquireNoClobberLease({ path: join(root, 'lease'), scope: 'smoke', authoritySha256: 'a'.repeat(64), staleAfterMs: 1000 })
  let code
  try {
    acquireNoClobberLease({ path: join(root, 'lease'), scope: 'smoke', authoritySha256: 'a'.repeat(64), staleAfterMs: 1000 })
  } catch (error) {
    code = error instanceof Error ? error.code : 'no Error'
  }
  lease.release()
  const record = registerServer({ kind: 'session', type: 'smoke' }, { coordRoot: root })
  const { servers } = listServers({ coordRoot: root })
  const gone = unregisterServer('smoke', { coordRoot: root })
  console.log(JSON.stringify({ code, token: processStartToken(pid) === record.start_token, listed: servers.length, state: servers[0]?.state, gone }))
} finally {
  rmSync(root, { recursive: true, force: true })
}
`

/** The same as CommonJS. */
export const CJS = ESM
  .replace(/import \{([^}]*)\} from '([^']*)'/g, "const {$1} = require('$2')")

export const EXPECTED = { code: 'LEASE_HELD', token: true, listed: 1, state: 'running', gone: true }

/** In a worker thread, beside a main thread that has it too. */
export const WORKER = `
const { Worker, isMainThread, parentPort } = require('node:worker_threads')
const { processStartToken } = require('harnery-native')
if (isMainThread) {
  const worker = new Worker(__filename)
  worker.on('message', (token) => {
    console.log(JSON.stringify({ same: token === processStartToken(process.pid) }))
  })
} else {
  parentPort.postMessage(processStartToken(process.pid))
}
`
