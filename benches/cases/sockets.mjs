// Who listens: against the text files and every /proc/<pid>/fd, read in JavaScript.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { timed } from '../harness.mjs'

export default [
  {
    name: 'sockets/quiet',
    what: 'listListeningSockets on this machine as it is, with three listeners more',
    limit: { ratio: 1 / 5 },
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
]

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
