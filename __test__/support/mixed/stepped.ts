// Contenders of either implementation, each a process of its own that is told when to go on.

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { AcquireNoClobberLeaseInput } from '../../../index.js'
import { ended } from '../project.js'
import type { Kind } from './group.js'

const CONTENDER = fileURLToPath(new URL('stepped-contender.mjs', import.meta.url))

export type Stepped = Awaited<ReturnType<Stage['start']>>

export class Stage {
  private readonly children: ChildProcess[] = []

  constructor(private readonly input: AcquireNoClobberLeaseInput) {}

  /** Start one and let it run until its first stop, or to the end of its call where it has none. */
  async start(kind: Kind, ...stops: string[]) {
    const child = spawn(process.execPath, [CONTENDER, JSON.stringify({ kind, input: this.input, stops })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.children.push(child)
    const next = lines(child)
    const tell = (text: string) => {
      child.stdin.write(`${text}\n`)
      return next()
    }
    return {
      pid: child.pid as number,
      first: await next(),
      /** Let it run on; where it stops next, or how its call ended. */
      goOn: () => tell('go on'),
      release: () => tell('release'),
      /** End it here, with SIGKILL. */
      kill: () => ended(child),
    }
  }

  async remove(): Promise<void> {
    await Promise.all(this.children.map(ended))
  }
}

/** What the process says, line by line. */
function lines(child: ChildProcess): () => Promise<string> {
  const said: string[] = []
  const waiting: ((line: string) => void)[] = []
  let rest = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() as string
    for (const part of parts) {
      const taker = waiting.shift()
      if (taker) taker(part)
      else said.push(part)
    }
  })
  child.once('close', () => waiting.splice(0).forEach((taker) => taker('ended')))
  return () => new Promise((resolve) => (said.length > 0 ? resolve(said.shift() as string) : waiting.push(resolve)))
}
