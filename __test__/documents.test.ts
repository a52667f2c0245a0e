// Every snippet of the documents is run as its reader would; commands of this project are looked up.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { readServer, registerServer, stopServer, touchServer } from '../index.js'
import { Reader, nameOf, snippets } from './support/document.js'
import { Project } from './support/project.js'
import { scratch } from './support/scratch.js'

const documents = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...readdirSync('docs').filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]

describe.each(documents)('%s', (document) => {
  it('has snippets of kinds that are looked at here, and no others', () => {
    const kinds = snippets(document).map(({ language }) => language)
    expect(kinds.filter((kind) => !['', 'js', 'ts', 'sh', 'mermaid'].includes(kind))).toEqual([])
  })

  it('names commands of this project that there are', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    const text = readFileSync(document, 'utf8')
    const named = [...text.matchAll(/(?:^|`)npm (?:run )?([\w:]+)/gm)].map(([, name]) => name as string)
    expect(named.filter((name) => !['init', 'install', 'uninstall'].includes(name) && !(name in scripts))).toEqual([])
  })

  it('links to files that there are', () => {
    const linked = [...readFileSync(document, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target]) => path.join(path.dirname(document), target as string))
    expect(linked.filter((target) => !existsSync(target))).toEqual([])
  })
})

it('the README\'s reader has a server registered, listed and stopped, and every example prints what it says', { timeout: 60_000 }, async () => {
  const reader = new Reader()
  for (const snippet of snippets('README.md')) {
    if (snippet.language === 'js') {
      const name = nameOf(snippet)
      writeFileSync(reader.file(name ?? 'example.mjs'), snippet.text)
      // One without a name is run at once; each line that it prints is said in a comment of its own.
      if (!name) expect(alike(await reader.type('node example.mjs'))).toBe(alike(said(snippet.text)))
    }
    if (snippet.language !== 'sh') continue
    for (const line of snippet.text.trim().split('\n')) {
      const [command = '', expected] = line.split(/\s+# /)
      const printed = await reader.type(command)
      if (expected) expect(alike(printed)).toBe(alike(`${expected}\n`))
    }
  }
  expect(await reader.leave()).toBe(0)
})

it('the other documents\' TypeScript compiles against the types and runs, with the tests\' second implementation in the harness\'s place', { timeout: 60_000 }, () => {
  const root = scratch()
  const all = documents.flatMap((document) => snippets(document)).filter(({ language }) => language === 'ts')
  expect(all.length).toBeGreaterThan(0)
  const harness = {
    'core/workflow/workspaces/leases.ts': `export { acquireNoClobberLease } from '${path.resolve('__test__/support/harness/leases.mjs')}'\n`,
    'app/identity.ts': `import type { ServerHost } from 'harnery-native'
export const resolveCoordRoot: NonNullable<ServerHost['resolveCoordRoot']> = () => process.cwd()
export const callingOwner: NonNullable<ServerHost['callingOwner']> = () => ({ instance_id: 'reader' })
export const ownerStateReader: NonNullable<ServerHost['ownerStates']> = () => () => 'live'
export const storageSharing: NonNullable<ServerHost['sharing']> = () => 'private'
`,
  }
  const read = Object.fromEntries(all.map((snippet, index) => [`app/${index}-${nameOf(snippet) ?? 'snippet.ts'}`, `${snippet.text}export {}\n`]))
  const files = { ...harness, ...read }
  const compilerOptions = { target: 'es2022', module: 'preserve', moduleResolution: 'bundler', strict: true, rootDir: '.', outDir: 'out', rewriteRelativeImportExtensions: true, verbatimModuleSyntax: true, types: ['node'], typeRoots: [path.resolve('node_modules/@types')] }
  mkdirSync(path.join(root, 'node_modules'))
  symlinkSync(path.resolve('.'), path.join(root, 'node_modules', 'harnery-native'))
  writeFileSync(path.join(root, 'package.json'), JSON.stringify({ type: 'module' }))
  writeFileSync(path.join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    writeFileSync(path.join(root, name), text)
  }
  expect(outcome(path.resolve('node_modules/typescript/bin/tsc'), ['-p', root], root)).toEqual({ status: 0, stdout: '', stderr: '' })
  for (const [name, text] of Object.entries(read)) {
    const ran = outcome(path.join(root, 'out', name.replace(/\.ts$/, '.js')), [], root)
    expect({ name, ...ran }).toEqual({ name, status: 0, stdout: said(text), stderr: '' })
  }
})

function outcome(program: string, args: string[], cwd: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { cwd, encoding: 'utf8' })
  return { status, stdout, stderr }
}

describe('docs/switching.md', () => {
  const switching = readFileSync('docs/switching.md', 'utf8')
  const layout: Record<string, { values?: string[] }> = JSON.parse(readFileSync('compat/layout.json', 'utf8'))

  it('names every module of the layout, and every function of each', () => {
    const names = Object.values(layout).flatMap(({ values }) => values ?? [])
    const missing = [...new Set(names)].filter((name) => !switching.includes(`\`${name}\``))
    expect(missing).toEqual([])
    expect(Object.keys(layout).filter((module) => !switching.includes(module.replace(/^0\.45\.0\/core\/servers$/, 'compat/0.45.0/core/servers')) && !/spawn-|failure-evidence/.test(module))).toEqual([])
  })

  it('is right about stop_argv: it is kept and never run, and the server is stopped by signals', async () => {
    const project = new Project()
    try {
      const { pid } = await project.idle()
      const at = { coordRoot: project.root }
      registerServer({ kind: 'session', type: 'older', pid }, at)
      const ran = path.join(project.root, 'ran')
      project.plant('older', { ...JSON.parse(project.text('older')), stop_argv: ['touch', ran] })
      touchServer('older', at)
      expect(JSON.parse(project.text('older')).stop_argv).toEqual(['touch', ran])
      expect(await stopServer(readServer('older', at) as never, at)).toEqual({ id: 'older', stopped: true, method: 'signal' })
      expect(existsSync(ran)).toBe(false)
    } finally {
      await project.remove()
    }
  })
})

/** What an example says that it prints: the comment at the end of each line that prints. */
function said(text: string): string {
  return [...text.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, line]) => `${line}\n`).join('')
}

/** Numbers differ from run to run. */
function alike(printed: string): string {
  return printed.replaceAll(/\d+/g, 'N')
}
