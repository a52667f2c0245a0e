import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { scratch } from './support/scratch.js'

const root = fileURLToPath(new URL('..', import.meta.url))

it('what becomes of the globals after the addon was loaded does not matter', () => {
  const script = `
    const native = require('./index.js')
    const { existsSync, readdirSync } = require('node:fs')
    const base = process.argv[1]
    const files = { max_record_bytes: 100, max_segment_bytes: 100 }
    const print = (value) => process.stdout.write(String(value) + '\\n')
    const { dispose } = Symbol
    delete JSON.parse
    delete JSON.stringify
    for (const name of ['JSON', 'Symbol', 'Map', 'Set', 'Promise', 'FinalizationRegistry', 'setImmediate', 'setTimeout']) globalThis[name] = {}
    const lease = native.acquireNoClobberLease({ path: base + '/lease', scope: 's', authoritySha256: '0'.repeat(64), staleAfterMs: 1 })
    print(existsSync(base + '/lease/current') + ' ' + typeof lease[dispose])
    lease.release()
    print(existsSync(base + '/lease/current'))
    native.acquireWorkflowResumeLease(base, 'r')()
    print(readdirSync(base + '/.harnery/workflows/r').includes('resume.lock'))
    const recovery = native.beginWorkflowRecovery(base, { run_id: 'r', action: 'a', target_sha256: '0'.repeat(64), target: { b: 1 }, actor: 'a', reason: 'b' })
    recovery.complete()
    print(recovery.intent.target.b + ' ' + native.listWorkflowRecoveries(base, 'r').length)
    const options = { coordRoot: base }
    const record = native.custody.registerServer({ id: 's', kind: 'session', type: 't' }, options)
    print(native.custody.withServerRegistrationCustody(record, options, () => 'held'))
    print(native.listListeningPorts().has(1) + ' ' + native.establishedConnectionCounts([1]).has(1))
    native.appendDurableHistoryRecords(base + '/history', [1, { a: 2 }], files)
    native.streamDurableHistory(base + '/history', files).next().then(({ value }) => print(value))
    print(native.canonicalJson({ b: 1, a: 2 }))`
  const printed = execFileSync(process.execPath, ['-e', script, scratch()], { cwd: root, encoding: 'utf8' })
  expect(printed.trim().split('\n')).toEqual([
    'true function',
    'false',
    'false',
    '1 1',
    'held',
    'false false',
    '{"a":2,"b":1}',
    '1',
  ])
})
