// A group of processes that contend for one lease and are killed meanwhile.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { ended } from '../project.js'
import { judge, type Verdict } from './referee.js'

const CONTENDER = fileURLToPath(new URL('soak-contender.mjs', import.meta.url))
/** Where a contender ends by itself, and at the latest how many times it comes there before. */
const ENDS: [at: string, times: number][] = [
  ['onLeaseDirectoryCreate', 30],
  ['onContention', 30],
  ['claim_created', 1],
  ['stale_pinned', 1],
  ['current_removed', 1],
  ['new_current_linked', 1],
  ['recovery_retired', 1],
  ['holding', 10],
  ['holding', 10],
  ['holding', 10],
]
/** Between any two file calls, which only the JavaScript implementation can be asked for. */
const BETWEEN_CALLS: (typeof ENDS)[number][] = [
  ['call', 400],
  ['call', 400],
  ['call', 400],
]

/** How much longer a group may take to show enough. */
const PATIENCE_MS = 60_000

export type Kind = 'native' | 'javascript'

/** As in the tables: `N` for a native, `T` for one that follows the TypeScript's own steps. */
export const names = (members: Kind[]) => members.map((kind) => (kind === 'native' ? 'N' : 'T')).join('')

export class Group {
  readonly root = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'mixed-'))
  readonly lease = path.join(this.root, 'workspace.lease')
  private readonly log = path.join(this.root, 'log')
  private readonly stop = path.join(this.root, 'stop')
  private readonly children = new Map<string, ChildProcess>()
  private stopping = false

  constructor(
    private readonly members: Kind[],
    readonly staleAfterMs: number,
  ) {}

  input() {
    return {
      path: this.lease,
      scope: 'workspace',
      authoritySha256: 'a'.repeat(64),
      staleAfterMs: this.staleAfterMs,
    }
  }

  /**
   * Let them contend for a time, kill some of them again and again, and say what was seen. On a machine that is busy with
   * other things it takes longer, until enough has happened.
   */
  async contend(seconds: number, killEveryMs: number, isEnough: (seen: Verdict) => boolean): Promise<Verdict> {
    const least = Date.now() + seconds * 1_000
    this.members.forEach((kind, index) => this.start(kind, `${kind}-${index}`, least + PATIENCE_MS))
    const fd = openSync(this.log, 'a')
    try {
      while (Date.now() < least || (Date.now() < least + PATIENCE_MS && !isEnough(this.seen()))) {
        await sleep(killEveryMs * (0.5 + Math.random()))
        const names = [...this.children.keys()]
        const name = names[Math.floor(Math.random() * names.length)]
        const child = name && this.children.get(name)
        if (!child || child.pid === undefined) continue
        writeSync(fd, `${process.hrtime.bigint()} ${name} ${child.pid} killed\n`)
        child.kill('SIGKILL')
      }
    } finally {
      closeSync(fd)
    }
    this.stopping = true
    writeFileSync(this.stop, '')
    await this.quiet()
    return this.seen()
  }

  private seen(): Verdict {
    return judge(readFileSync(this.log, 'utf8'))
  }

  private start(kind: Kind, name: string, until: number): void {
    const ends = kind === 'javascript' ? [...ENDS, ...BETWEEN_CALLS] : ENDS
    const [at, times] = ends[Math.floor(Math.random() * ends.length)] as (typeof ENDS)[number]
    const end = { at, after: Math.ceil(Math.random() * times) }
    const job = { name, kind, input: this.input(), log: this.log, stop: this.stop, until, end }
    const child = spawn(process.execPath, [CONTENDER, JSON.stringify(job)], { stdio: ['ignore', 'ignore', 'inherit'] })
    this.children.set(name, child)
    child.once('exit', () => {
      this.children.delete(name)
      if (!this.stopping) this.start(kind, name, until)
    })
  }

  /** Wait until all of them ended by themselves. */
  private async quiet(): Promise<void> {
    const deadline = Date.now() + 20_000
    while (this.children.size > 0 && Date.now() < deadline) await sleep(20)
    if (this.children.size > 0) throw new Error(`${[...this.children.keys()]} did not come to an end`)
  }

  async remove(): Promise<void> {
    this.stopping = true
    await Promise.all([...this.children.values()].map(ended))
    rmSync(this.root, { recursive: true, force: true })
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
