// Who listens, and how many are connected: against the text files and every /proc/<pid>/fd, read in JavaScript, and
// against `ss`.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { bare } from '../bare.mjs'
import { timed } from '../harness.mjs'
import { countConnections } from './servers.mjs'

const PROCESSES = 1000
const DESCRIPTORS = 20
const NEWEST = 50

export default [
  {
    name: 'sockets/quiet',
    what: 'listListeningSockets on this machine as it is, with three listeners more',
    limit: { ratio: 1 / 12 },
    async setup() {
      const { listListeningSockets } = await import('../../index.js')
      const servers = await Promise.all(['127.0.0.1', '::1', '0.0.0.0'].map(listen))
      const found = listListeningSockets().filter(({ pid }) => pid === process.pid).length
      if (found !== servers.length) throw new Error(`${found} of ${servers.length} listeners were found`)
      if (scan().filter(({ pid }) => pid === process.pid).length !== found) throw new Error('the reference is wrong')
      return {
        ours: timed(listListeningSockets),
        reference: timed(scan),
        end: () => servers.forEach((server) => server.close()),
      }
    },
  },
  crowded('crowd', 'owners among the newest 50', { javascript: 1 / 10, ss: 1 / 3 }, () => [
    bare('crowd', PROCESSES, DESCRIPTORS, NEWEST),
  ]),
  crowded('unseen', 'one listener more, whose owner cannot be found', { javascript: 1 / 1.5, ss: 1 }, () => [
    bare('crowd', PROCESSES, DESCRIPTORS, 0),
    bare('unseen'),
  ]),
  {
    name: 'sockets/connections',
    what: 'establishedConnectionCounts of 10 ports among 10,000 connections, against reading the text files',
    limit: { ratio: 1 / 10 },
    samples: 10,
    async setup() {
      const { establishedConnectionCounts } = await import('../../index.js')
      const connected = bare('connected', 10_000, 100)
      const ports = (await connected.line()).split(' ').slice(0, 10).map(Number)
      const counts = [establishedConnectionCounts(ports), countConnections(new Set(ports))].map((map) => ports.map((port) => map.get(port)).join())
      if (counts[0] !== counts[1]) throw new Error(`${counts[0]} and ${counts[1]}`)
      return {
        ours: timed(() => establishedConnectionCounts(ports)),
        reference: timed(() => countConnections(new Set(ports))),
        end: () => connected.end(),
      }
    },
  },
].flat()

/** The same crowd against a script and against `ss`. */
function crowded(name, what, { javascript, ss }, start) {
  const against = (reference, limit, other, samples) => ({
    name: `sockets/${name}-${reference}`,
    what: `listListeningSockets with ${PROCESSES} processes and ${PROCESSES * DESCRIPTORS} descriptors, ${what}, against ${reference}`,
    limit: { ratio: limit },
    samples,
    async setup() {
      const { listListeningSockets } = await import('../../index.js')
      const programs = start()
      for (const program of programs) await program.line()
      const theirs = scan().length
      const ours = listListeningSockets().length
      if (ours !== theirs) throw new Error(`${ours} listeners were found, and ${theirs} by the reference`)
      return {
        ours: timed(listListeningSockets),
        reference: timed(other),
        end: () => Promise.all(programs.map((program) => program.end())),
      }
    },
  })
  return [
    against('javascript', javascript, scan, 8),
    against('ss', ss, () => {
      if (spawnSync('ss', ['-ltnp']).status !== 0) throw new Error('ss is missing')
    }, 8),
  ]
}

async function listen(address) {
  const server = createServer().listen(0, address)
  await once(server, 'listening')
  return server
}

/** The listening sockets with their owners, by what a script can read. */
export function scan() {
  const ports = new Map()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(file, 'utf8').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      if (fields[3] === '0A') ports.set(fields[9], parseInt(fields[1].split(':')[1], 16))
    }
  }
  const sockets = []
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    let descriptors = []
    try {
      descriptors = readdirSync(`/proc/${pid}/fd`)
    } catch {
      // Another user's, or gone.
    }
    for (const descriptor of descriptors) {
      let target = ''
      try {
        target = readlinkSync(`/proc/${pid}/fd/${descriptor}`)
      } catch {
        // Closed meanwhile.
      }
      const port = ports.get(/^socket:\[(\d+)\]$/.exec(target)?.[1])
      if (port !== undefined) sockets.push({ pid: Number(pid), port })
    }
  }
  return sockets
}
