// From the end of a server's process to the settled promise of its stop: against a script that asks every 25 ms.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bare } from '../bare.mjs'

const STOPS = 200

export default [
  {
    name: 'stop/settled',
    what: 'stopServer: from the end of the process (its own last word) to the settled promise',
    limit: { ms: 2 },
    samples: 100,
    rounds: 1,
    async setup() {
      const { registerServer, stopServer } = await import('../../index.js')
      const coordRoot = mkdtempSync(path.join(os.tmpdir(), 'harnery-bench-'))
      mkdirSync(path.join(coordRoot, '.harnery'))
      return {
        ours: () =>
          afterTheEnd(async (pid) => {
            const record = registerServer({ kind: 'session', type: 'bench', pid }, { coordRoot })
            const result = await stopServer(record, { coordRoot })
            if (!result.stopped) throw new Error(`not stopped: ${JSON.stringify(result)}`)
          }),
        reference: () => afterTheEnd(stopByAsking),
        end: () => rmSync(coordRoot, { recursive: true }),
      }
    },
  },
  {
    name: 'stop/threads',
    what: `threads more than before while ${STOPS} stops are waiting`,
    limit: { most: 1 },
    async figure() {
      const { registerServer, stopServer } = await import('../../index.js')
      const coordRoot = mkdtempSync(path.join(os.tmpdir(), 'harnery-bench-'))
      mkdirSync(path.join(coordRoot, '.harnery'))
      // The first promise of Node's own has its threads.
      await stat(coordRoot)
      const stubborn = Array.from({ length: STOPS }, () => spawn('sh', ['-c', 'trap "" TERM; echo; while :; do sleep 9; done'], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] }))
      await Promise.all(stubborn.map(({ stdout }) => once(stdout, 'data')))
      const records = stubborn.map(({ pid }, number) => registerServer({ id: `s${number}`, kind: 'session', type: 'bench', pid }, { coordRoot }))
      const before = threads()
      const stops = records.map((record) => stopServer(record, { coordRoot, graceMs: 500 }))
      await pause(100)
      const during = threads()
      const stopped = (await Promise.all(stops)).filter((result) => result.stopped).length
      rmSync(coordRoot, { recursive: true })
      if (stopped !== STOPS) throw new Error(`${stopped} were stopped`)
      return { value: during - before, unit: 'threads', notes: [`${before} before, ${during} with ${STOPS} stops waiting; all ${stopped} were stopped`] }
    },
  },
]

function threads() {
  return readdirSync('/proc/self/task').length
}

/** Nanoseconds from the process's last word, right before its end, to the end of `stop`. */
async function afterTheEnd(stop) {
  const victim = bare('victim')
  await victim.line()
  await stop(victim.child.pid)
  const settled = process.hrtime.bigint()
  const ended = BigInt(await victim.line())
  await victim.end()
  return Number(settled - ended)
}

async function stopByAsking(pid) {
  process.kill(pid, 'SIGTERM')
  while (isThere(pid)) await pause(25)
}

function isThere(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
