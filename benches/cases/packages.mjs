// What a script would use instead, where there is a package for it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { timedAsync } from '../harness.mjs'
import { packaged } from '../packages.mjs'
import { onMemory } from '../places.mjs'

export default [
  {
    name: 'packages/pid-port',
    what: 'the process of a port: listListeningSockets, against portToPid of pid-port',
    limit: { ratio: 1 },
    samples: 8,
    rounds: 1,
    async setup() {
      const { listListeningSockets } = await import('../../index.js')
      const { portToPid } = await module_('pid-port')
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address()
      return {
        ours: timedAsync(async () => is(listListeningSockets().find((socket) => socket.port === port)?.pid, process.pid)),
        reference: timedAsync(async () => is(await portToPid(port), process.pid)),
        end: () => server.close(),
      }
    },
  },
  {
    name: 'packages/get-port',
    what: 'a free port of a range: allocateServerPort, against get-port',
    limit: { ratio: 1 },
    samples: 12,
    async setup() {
      const { allocateServerPort } = await import('../../index.js')
      const { default: getPort, portNumbers, clearLockedPorts } = await module_('get-port')
      const coordRoot = onMemory()
      mkdirSync(path.join(coordRoot, '.harnery'))
      writeFileSync(path.join(coordRoot, '.harnery', 'config.jsonc'), '{ "servers": { "port_ranges": { "bench": [20000, 20099] } } }')
      return {
        ours: timedAsync(async () => allocateServerPort('bench', { coordRoot })),
        reference: timedAsync(async () => {
          clearLockedPorts()
          await getPort({ port: portNumbers(20000, 20099) })
        }),
        end: () => rmSync(coordRoot, { recursive: true }),
      }
    },
  },
  {
    name: 'packages/ps-list',
    what: 'every process with its parent and command: readProcessInfo of each number in /proc, against ps-list',
    limit: { ratio: 1 },
    samples: 8,
    rounds: 1,
    async setup() {
      const { readProcessInfo } = await import('../../index.js')
      const psList = (await module_('ps-list')).default
      return {
        ours: timedAsync(async () => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((name) => readProcessInfo(Number(name)))),
        reference: timedAsync(() => psList()),
      }
    },
  },
  {
    name: 'packages/tree-kill',
    what: 'a process and its child, from the request until both are gone: stopServer, against tree-kill and asking every millisecond',
    limit: { ratio: 1 },
    samples: 8,
    rounds: 1,
    async setup() {
      const { registerServer, stopServer } = await import('../../index.js')
      const treeKill = await packaged('tree-kill')
      const coordRoot = onMemory()
      mkdirSync(path.join(coordRoot, '.harnery'))
      return {
        ours: () =>
          untilGone(async (pid) => {
            const { stopped } = await stopServer(registerServer({ kind: 'session', type: 'bench', pid }, { coordRoot }), { coordRoot })
            if (!stopped) throw new Error('not stopped')
          }),
        reference: () =>
          untilGone(async (pid, child) => {
            await new Promise((resolve, reject) => treeKill(pid, 'SIGTERM', (error) => (error ? reject(error) : resolve())))
            while (lives(pid) || lives(child)) await pause(1)
          }),
        end: () => rmSync(coordRoot, { recursive: true }),
      }
    },
  },
]

function is(found, wanted) {
  if (found !== wanted) throw new Error(`found ${found} instead of ${wanted}`)
}

/** A package with its named exports. */
async function module_(name) {
  const found = await packaged(name)
  return typeof found === 'function' && name !== 'tree-kill' ? import(await resolved(name)) : found
}

async function resolved(name) {
  const { createRequire } = await import('node:module')
  return createRequire(new URL('../package.json', import.meta.url)).resolve(name)
}

/** Nanoseconds that `stop` takes for a process that leads a group with a child in it. */
async function untilGone(stop) {
  const leader = spawn('sh', ['-c', 'sleep 60 & echo $!; wait'], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(leader.stdout, 'data')
  const start = process.hrtime.bigint()
  await stop(leader.pid, Number(String(line)))
  return Number(process.hrtime.bigint() - start)
}

/** Whether it still runs: one that has ended may wait for its new parent to collect it. */
function lives(pid) {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
