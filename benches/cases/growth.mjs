// How cost grows: what has to read everything at most doubles with it, what does not stays as it is.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { bare } from '../bare.mjs'
import { timed } from '../harness.mjs'
import { onMemory } from '../places.mjs'
import { historyOptions, historyRecord } from './history.mjs'
import { leaseInput } from './lease.mjs'

const READS_ALL = { slope: 1.1 }
const STAYS = { slope: 0.1 }
const native = () => import('../../index.js')

export default [
  registry('list', 'listServers without a scan, by records', READS_ALL, ({ listServers }, coordRoot) => () => listServers({ coordRoot, scan: false })),
  registry('touch', 'touchServer, by records', STAYS, ({ touchServer }, coordRoot) => () => touchServer('server-0', { coordRoot })),
  registry('read', 'readServer, by records', STAYS, ({ readServer }, coordRoot) => () => readServer('server-0', { coordRoot })),
  {
    name: 'growth/acquire',
    what: 'acquireNoClobberLease and release, by leftovers in its directory that nobody may remove',
    limit: STAYS,
    sizes: [512, 1024, 2048, 4096],
    async growth(size) {
      const { acquireNoClobberLease } = await native()
      const dir = onMemory()
      const input = leaseInput(dir)
      acquireNoClobberLease(input).release()
      // Torn owner files: they stay.
      for (let number = 0; number < size; number++) writeFileSync(path.join(input.path, `owner-torn-${number}.json`), '{')
      return { run: timed(() => acquireNoClobberLease(input).release()), end: () => rmSync(dir, { recursive: true }) }
    },
  },
  history('append', 'appendDurableHistoryRecord, by records that are there', STAYS, ({ appendDurableHistoryRecord }, dir) => () => appendDurableHistoryRecord(dir, historyRecord, historyOptions)),
  history('read-history', 'readDurableHistorySync, by records', READS_ALL, ({ readDurableHistorySync }, dir) => () => readDurableHistorySync(dir, { max_record_bytes: 4096 })),
  crowd('processes', 'listListeningSockets, by processes with 20 descriptors each', [125, 250, 500, 1000], (size) => ['crowd', size, 20, 5], ({ listListeningSockets }) => listListeningSockets),
  crowd('sockets', 'establishedConnectionCounts of 10 ports, by connections', [1250, 2500, 5000, 10_000], (size) => ['connected', size, 100], ({ establishedConnectionCounts }, ports) => () => establishedConnectionCounts(ports.slice(0, 10))),
]

function registry(name, what, limit, verb) {
  return {
    name: `growth/${name}`,
    what,
    limit,
    sizes: [125, 250, 500, 1000, 2000],
    // What is remembered is the last registry that was listed.
    apart: true,
    async growth(size) {
      const module = await native()
      const coordRoot = onMemory()
      for (let number = 0; number < size; number++) {
        module.registerServer({ kind: 'session', type: 'bench', id: `server-${number}`, port: 20000 + number, owner: null }, { coordRoot })
      }
      return { run: timed(verb(module, coordRoot)), end: () => rmSync(coordRoot, { recursive: true }) }
    },
  }
}

function history(name, what, limit, verb) {
  return {
    name: `growth/${name}`,
    what,
    limit,
    sizes: [1000, 2000, 4000, 8000, 16_000],
    async growth(size) {
      const module = await native()
      const dir = path.join(onMemory(), 'history')
      mkdirSync(dir)
      writeFileSync(path.join(dir, 'active.jsonl'), `${JSON.stringify(historyRecord)}\n`.repeat(size))
      return { run: timed(verb(module, dir)), end: () => rmSync(path.dirname(dir), { recursive: true }) }
    },
  }
}

function crowd(name, what, sizes, task, verb) {
  return {
    name: `growth/${name}`,
    what,
    limit: READS_ALL,
    sizes,
    apart: true,
    async growth(size) {
      const program = bare(...task(size).map(String))
      const ports = (await program.line()).split(' ').map(Number)
      return { run: timed(verb(await native(), ports)), end: () => program.end() }
    },
  }
}
