// A temporary project on a memory file system where there is one, and processes to register in it.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export class Project {
  readonly root = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'project-'))
  private readonly children: ChildProcess[] = []

  file(id: string): string {
    return path.join(this.root, '.harnery', 'servers', `${id}.json`)
  }

  text(id: string): string {
    return readFileSync(this.file(id), 'utf8')
  }

  /** Put a record there as another writer would. */
  plant(id: string, record: object | string): void {
    mkdirSync(path.dirname(this.file(id)), { recursive: true, mode: 0o700 })
    writeFileSync(this.file(id), typeof record === 'string' ? record : `${JSON.stringify(record)}\n`)
  }

  configure(text: string): void {
    mkdirSync(path.join(this.root, '.harnery'), { recursive: true })
    writeFileSync(path.join(this.root, '.harnery', 'config.jsonc'), text)
  }

  /** A process that runs `script` in the project; its first line on standard output comes back. */
  async start(script: string, options: { cwd?: string; args?: string[]; env?: NodeJS.ProcessEnv } = {}) {
    const child = spawn(process.execPath, ['-e', script, ...(options.args ?? [])], {
      cwd: options.cwd ?? this.root,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.children.push(child)
    const said = await new Promise<string>((resolve, reject) => {
      let text = ''
      child.stdout.on('data', (chunk) => {
        text += chunk
        if (text.includes('\n')) resolve(text.split('\n')[0] as string)
      })
      child.on('exit', () => reject(new Error('the process ended before it was ready')))
    })
    return { child, pid: child.pid as number, said }
  }

  /** A process that listens on a free port of 127.0.0.1. */
  async listen(options: { cwd?: string; host?: string } = {}) {
    const host = options.host ?? '127.0.0.1'
    const script = `const s = require('node:http').createServer((_, r) => r.end('ok'));
      s.listen(0, '${host}', () => console.log(s.address().port))`
    const started = await this.start(script, options)
    return { ...started, port: Number(started.said) }
  }

  /** A process that does nothing. */
  idle() {
    return this.start("console.log('ready'); setInterval(() => {}, 1e6)")
  }

  async remove(): Promise<void> {
    await Promise.all(this.children.map(ended))
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** Kill a child and wait until it is reaped. */
export function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('close', () => resolve())
    child.kill('SIGKILL')
  })
}

/** A record as the harness may have written it. */
export const planted = (id: string, pid: number, more: object = {}) => ({
  schema_version: 1,
  id,
  kind: 'session',
  type: 'preview',
  label: id,
  pid,
  host: os.hostname(),
  started_at: '2026-01-01T00:00:00.000Z',
  registered_at: '2026-01-01T00:00:00.000Z',
  ...more,
})
