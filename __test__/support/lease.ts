// A lease directory on a memory file system where there is one, and processes that contend for it.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type AcquireNoClobberLeaseInput, acquireNoClobberLease, type NoClobberLeaseOwner } from '../../index.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

export const authoritySha256 = 'a'.repeat(64)
export const staleAfterMs = 1000
/** Above every system's highest number. */
export const deadPid = 4_194_305
/** Whatever is acquired then has expired by now. */
export const longAgo = () => 1_700_000_000_000

/** What a call throws. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call()
  } catch (thrown) {
    return thrown
  }
  throw new Error('it did not throw')
}

/** How an acquisition is refused. */
export const refusal = (input: AcquireNoClobberLeaseInput) =>
  thrownBy(() => acquireNoClobberLease(input)) as Error & { code: string; holder?: unknown; reason?: string }

export class LeaseScene {
  private readonly dir = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'lease-'))
  readonly path = path.join(this.dir, 'x.lease')
  private readonly contenders: Contender[] = []

  input(more: Partial<AcquireNoClobberLeaseInput> = {}): AcquireNoClobberLeaseInput {
    return { path: this.path, scope: 'workspace', authoritySha256, staleAfterMs, ...more }
  }

  names(): string[] {
    return readdirSync(this.path).sort()
  }

  current(): NoClobberLeaseOwner {
    return JSON.parse(readFileSync(path.join(this.path, 'current'), 'utf8'))
  }

  /** A holder as the TypeScript writes it, at first dead and long expired. */
  plantHolder(more: Partial<NoClobberLeaseOwner> = {}): NoClobberLeaseOwner {
    const owner_id = more.owner_id ?? 'planted'
    const owner: NoClobberLeaseOwner = {
      schema_version: 1,
      owner_id,
      owner_file: `owner-${owner_id}.json`,
      scope: 'workspace',
      authority_sha256: authoritySha256,
      pid: deadPid,
      host: os.hostname(),
      created_at: new Date(longAgo()).toISOString(),
      expires_at: new Date(longAgo() + staleAfterMs).toISOString(),
      ...more,
    }
    mkdirSync(this.path, { recursive: true, mode: 0o700 })
    writeFileSync(path.join(this.path, owner.owner_file), `${JSON.stringify(owner)}\n`, { mode: 0o600 })
    linkSync(path.join(this.path, owner.owner_file), path.join(this.path, 'current'))
    return owner
  }

  contender(): Contender {
    const contender = new Contender(this.input())
    this.contenders.push(contender)
    return contender
  }

  async remove(): Promise<void> {
    await Promise.all(this.contenders.map((contender) => contender.kill()))
    rmSync(this.dir, { recursive: true, force: true })
  }
}

/** A process that acquires and releases when it is told to. */
export class Contender {
  readonly process: ChildProcess
  private readonly lines: AsyncIterator<string>
  private readonly reader: Interface

  constructor(input: AcquireNoClobberLeaseInput) {
    const script = `
      const native = require('./index.js')
      const input = ${JSON.stringify(input)}
      let lease
      const report = (work) => {
        try { console.log(work()) } catch (error) { console.log('refused ' + error.code + ' ' + (error.reason ?? '')) }
      }
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        if (line === 'acquire') report(() => { lease = native.acquireNoClobberLease(input); return 'held ' + lease.owner.owner_id })
        if (line === 'release') report(() => { lease.release(); return 'released' })
        if (line.startsWith('cycles ')) report(() => {
          let held = 0
          for (let left = Number(line.slice(7)); left > 0; left--) {
            try { const lease = native.acquireNoClobberLease(input); held++; lease.release() }
            catch (error) { if (!/^LEASE_(HELD|RECOVERING)$/.test(error.code)) throw error }
          }
          return 'cycles ' + held
        })
      })`
    this.process = spawn(process.execPath, ['-e', script], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
    this.reader = createInterface({ input: this.process.stdout as NodeJS.ReadableStream })
    this.lines = this.reader[Symbol.asyncIterator]()
  }

  async ask(line: string): Promise<string> {
    this.process.stdin?.write(`${line}\n`)
    return (await this.lines.next()).value
  }

  /** SIGKILL, and wait until it is collected. */
  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    const ended = new Promise((resolve) => this.process.once('exit', resolve))
    this.process.kill('SIGKILL')
    await ended
    this.reader.close()
  }
}
