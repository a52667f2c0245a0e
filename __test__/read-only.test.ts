// In a folder that nobody may write to, not even root, each call fails by the system call and the path, and reading works.

import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { acquireNoClobberLease, appendDurableHistoryRecord, listServers, readServer, registerServer } from '../index.js'
import { thrownBy } from './support/scratch.js'

const readOnly = '/sys'
const history = { max_record_bytes: 1000, max_records: 1000, max_segment_bytes: 10_000 }

it.skipIf(!existsSync(readOnly)).each([
  ['a lease', () => acquireNoClobberLease({ path: `${readOnly}/lease`, scope: 'test', authoritySha256: 'a'.repeat(64), staleAfterMs: 1 })],
  ['a registration', () => registerServer({ kind: 'session', type: 'test' }, { coordRoot: readOnly })],
  ['a history', () => appendDurableHistoryRecord(`${readOnly}/history`, { some: 'record' }, history as never)],
])('%s says which call failed, and where', (_, work) => {
  const error = thrownBy(work) as NodeJS.ErrnoException
  expect(error).toBeInstanceOf(Error)
  expect(error.code).toMatch(/^(EPERM|EACCES|EROFS)$/)
  expect(error.message).toMatch(new RegExp(`^${error.code}: [a-z -]+, mkdir '${readOnly}/[^']+'$`))
})

it.skipIf(!existsSync(readOnly))('a listing is empty', () => {
  expect(listServers({ coordRoot: readOnly }).servers).toEqual([])
  expect(readServer('test', { coordRoot: readOnly })).toBeNull()
})
