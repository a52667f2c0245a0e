// From the end of a server's process to the settled promise of its stop: against a script that asks every 25 ms.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bare } from '../bare.mjs'

export default [
  {
    name: 'stop/settled',
    what: 'stopServer: from the end of the process (its own last word) to the settled promise',
    limit: { ms: 5 },
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
]

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
