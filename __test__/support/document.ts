// A document's snippets, and a folder in which its reader tries them out, from top to bottom.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { scratch } from './scratch.js'

export interface Snippet {
  language: string
  text: string
}

export function snippets(document: string): Snippet[] {
  return [...readFileSync(document, 'utf8').matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }))
}

/** The name that a snippet's first line gives it. */
export function nameOf(snippet: Snippet): string | undefined {
  return /^\/\/ ([\w.-]+\.m?[jt]s)\n/.exec(snippet.text)?.[1]
}

/** An empty folder with the package installed; `npm` there knows the two commands that a reader starts with. */
export class Reader {
  readonly folder = scratch()
  private readonly running: ChildProcess[] = []

  constructor() {
    mkdirSync(this.file('node_modules/.bin'), { recursive: true })
    symlinkSync(path.resolve('.'), this.file('node_modules/harnery-native'))
    symlinkSync(path.resolve('bin/harnery-native.js'), this.file('node_modules/.bin/harnery-native'))
    mkdirSync(this.file('bin'))
    writeFileSync(this.file('bin/npm'), '#!/bin/sh\ncase "$*" in "init -y" | "install harnery-native") ;; *) exit 1 ;; esac\n')
    chmodSync(this.file('bin/npm'), 0o755)
  }

  file(name: string): string {
    return path.join(this.folder, name)
  }

  /** What a command prints. A server prints one line and goes on; it is ended with the reader. */
  async type(command: string): Promise<string> {
    const [program = '', ...args] = command.split(' ')
    const env = { ...process.env, TMPDIR: this.folder, PATH: [this.file('bin'), this.file('node_modules/.bin'), process.env['PATH']].join(path.delimiter) }
    const listens = args[0]?.endsWith('.mjs') && readFileSync(this.file(args[0]), 'utf8').includes('server.listen(')
    if (!listens) {
      const { status, stdout, stderr } = spawnSync(program, args, { cwd: this.folder, env, encoding: 'utf8' })
      if (status !== 0) throw new Error(`${command}: exit code ${status}\n${stdout}${stderr}`)
      return stdout
    }
    const server = spawn(program, args, { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    this.running.push(server)
    const [line] = await new Promise<Buffer[]>((resolve) => server.stdout?.once('data', (data: Buffer) => resolve([data])))
    return String(line)
  }

  /** Resolves once everything that the reader started has ended; what still runs after all was not stopped. */
  async leave(): Promise<number> {
    const left = this.running.filter((child) => child.exitCode === null && child.signalCode === null)
    const ended = await Promise.all(left.map((child) => new Promise<boolean>((resolve) => {
      child.once('exit', () => resolve(true))
      setTimeout(() => resolve(child.kill('SIGKILL') && false), 5_000).unref()
    })))
    return ended.filter((itself) => !itself).length
  }
}
