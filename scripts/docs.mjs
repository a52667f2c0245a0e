// npm run docs [-- --check]: docs/api, made by TypeDoc from index.d.ts; --check: only compare.
//
// One page for each section of the README's functions; a type is on the page of its file in types/.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

import { fail, installPackages, root } from './prepare.mjs'

/** The README's sections, as pages: which files in types/ belong to each. */
const PAGES = {
  Processes: { page: 'processes', types: ['process', 'features'] },
  Leases: { page: 'leases', types: ['lease'] },
  Servers: { page: 'servers', types: ['servers', 'custody'] },
  Sockets: { page: 'sockets', types: ['net'] },
  'Histories, workflows, evidence': { page: 'histories', types: ['history', 'workflow', 'spawn', 'supervisor'] },
}

const check = process.argv.includes('--check')
const api = path.join(root, 'docs', 'api')
installPackages()
// Inside the project, so that the pages' imports resolve.
mkdirSync(path.join(root, 'target'), { recursive: true })
const work = mkdtempSync(path.join(root, 'target', 'docs-'))
process.on('exit', () => rmSync(work, { recursive: true, force: true }))

const out = path.join(work, 'out')
await generate(writeEntries(), out)
const made = tree(out)
if (check) {
  const stale = [...new Set([...made.keys(), ...tree(api).keys()])].filter((name) => made.get(name) !== tree(api).get(name))
  if (stale.length > 0) fail(`docs/api is not what index.d.ts makes (${stale.sort().join(', ')}): run npm run docs and commit it`)
} else {
  rmSync(api, { recursive: true, force: true })
  for (const [name, text] of made) {
    mkdirSync(path.dirname(path.join(api, name)), { recursive: true })
    writeFileSync(path.join(api, name), text)
  }
}
console.log(`docs/api: ${made.size} pages${check ? ', up to date' : ''}`)

/** A module for each page, which hands on what belongs on it. */
function writeEntries() {
  const sections = functionsOfReadme()
  const claimed = new Set()
  const entries = Object.entries(PAGES).map(([title, { page, types }]) => {
    const declared = types.map((name) => readFileSync(path.join(root, 'types', `${name}.d.ts`), 'utf8')).join('\n')
    const named = [...declared.matchAll(/^export (?:declare )?(?:interface|type|const|namespace|class) (\w+)/gm)].map(([, name]) => name)
    const names = [...new Set([...named, ...sections[title]])].filter((name) => !claimed.has(name))
    names.forEach((name) => claimed.add(name))
    const entry = path.join(work, `${page}.ts`)
    writeFileSync(entry, `/** @module ${page} */\nexport { ${names.join(', ')} } from '../../index.js'\n`)
    return entry
  })
  const all = [...readFileSync(path.join(root, 'index.d.ts'), 'utf8').matchAll(/^export (?:declare )?(?:interface|type|const|namespace|function|class) (\w+)/gm)].map(([, name]) => name)
  const homeless = all.filter((name) => !claimed.has(name))
  if (homeless.length > 0) fail(`No page of docs/api has ${homeless.join(', ')}: name them in a table of the README`)
  return entries
}

function functionsOfReadme() {
  const [, functions] = readFileSync(path.join(root, 'README.md'), 'utf8').split('\n## Functions\n')
  const sections = functions.split('\n## ')[0].split('\n### ').slice(1)
  const declared = readFileSync(path.join(root, 'index.d.ts'), 'utf8')
  return Object.fromEntries(sections.map((section) => {
    const named = [...section.matchAll(/`(\w+)(?:\(.*?\))?`/g)].map(([, name]) => name)
    return [section.split('\n')[0], named.filter((name) => new RegExp(`^export declare (?:function|namespace) ${name}\\b`, 'm').test(declared))]
  }))
}

async function generate(entryPoints, to) {
  const { Application, LogLevel } = await import('typedoc')
  const tsconfig = path.join(work, 'tsconfig.json')
  writeFileSync(tsconfig, JSON.stringify({
    compilerOptions: { target: 'es2022', lib: ['es2023', 'esnext.disposable'], module: 'nodenext', moduleResolution: 'nodenext', strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: ['node'] },
    files: entryPoints,
  }))
  const typedoc = await Application.bootstrapWithPlugins({
    entryPoints,
    tsconfig,
    name: 'harnery-native',
    plugin: ['typedoc-plugin-markdown'],
    out: to,
    readme: 'none',
    disableSources: true,
    hideGenerator: true,
    // Links out of the comments, and nothing that changes with the machine.
    gitRevision: 'main',
    disableGit: true,
    sort: ['source-order'],
    groupOrder: ['Functions', 'Namespaces', 'Variables', 'Interfaces', 'Type Aliases'],
    outputFileStrategy: 'modules',
    entryFileName: 'README',
    hideBreadcrumbs: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    expandObjects: false,
    logLevel: LogLevel.Warn,
    treatWarningsAsErrors: true,
  })
  const project = await typedoc.convert()
  if (!project || typedoc.logger.hasErrors() || typedoc.logger.hasWarnings()) fail('TypeDoc found something to complain about (above)')
  await typedoc.generateOutputs(project)
}

/** Every file below a folder with its text. */
function tree(folder) {
  if (!existsSync(folder)) return new Map()
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  return new Map(files.map((entry) => {
    const file = path.join(entry.parentPath ?? entry.path, entry.name)
    return [path.relative(folder, file), readFileSync(file, 'utf8')]
  }).sort())
}
