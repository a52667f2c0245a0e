// The Rust program of bare system calls (benches/bare), built when it is first needed.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fail, root, say } from '../scripts/prepare.mjs'

let program

/** Start it with a task; `line()` is the next line that it writes. */
export function bare(...task) {
  program ??= built()
  const child = spawn(program, task, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    write: (text) => child.stdin.write(`${text}\n`),
    async line() {
      const { value, done } = await lines.next()
      if (done) throw new Error(`bare ${task[0]} has ended`)
      return value
    },
    async end() {
      child.stdin.end()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

/** `bare calls` as one side of a case. */
export function counting(replay) {
  return async (rounds) => {
    replay.write(rounds)
    return Number(await replay.line())
  }
}

function built() {
  say('Building the program of bare system calls (release)')
  const args = ['build', '--release', '--no-default-features', '--bench', 'bare', '--message-format=json-render-diagnostics']
  const done = spawnSync('cargo', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 26 })
  if (done.status !== 0) fail('cargo build --bench bare failed')
  const messages = done.stdout.trim().split('\n').map((line) => JSON.parse(line))
  return messages.find(({ target, executable }) => target?.name === 'bare' && executable).executable
}
