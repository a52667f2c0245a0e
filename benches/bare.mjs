// The Rust program of bare system calls (benches/bare), built when it is first needed.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { root, run, say } from '../scripts/prepare.mjs'

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

/** The path of a native module that does nothing. */
export function emptyModule() {
  program ??= built()
  return path.join(path.dirname(program), 'libempty.so')
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
  const target = path.join(root, 'target', 'bare')
  const manifest = path.join('benches', 'bare', 'Cargo.toml')
  run('cargo', ['build', '--release', '--locked', '--quiet', '--manifest-path', manifest, '--target-dir', target])
  return path.join(target, 'release', 'bare')
}
