// npm test [-- step …]: everything that CI runs, on a machine where nothing was installed or built before.

import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { build, checkRust, fail, installPackages, root, run, say } from './prepare.mjs'

const CORE = ['--locked', '--no-default-features', '--features', 'sim']
const BARE = ['--manifest-path', path.join('benches', 'bare', 'Cargo.toml')]
const STRICT = ['-D', 'warnings']

const steps = {
  format() {
    run('cargo', ['fmt', '--check'])
    run('cargo', ['fmt', '--check', ...BARE])
  },
  lints() {
    run('cargo', ['clippy', '--quiet', '--all-targets', ...CORE, '--', ...STRICT])
    run('cargo', ['clippy', '--quiet', '--all-targets', '--locked', '--', ...STRICT])
    run('cargo', ['clippy', '--quiet', '--locked', ...BARE, '--target-dir', path.join('target', 'bare'), '--', ...STRICT])
  },
  rust() {
    run('cargo', ['test', ...CORE])
  },
  mutants() {
    run(process.execPath, [path.join('scripts', 'mutants.mjs')])
  },
  build: buildAndCompare,
  documents() {
    run(process.execPath, ['scripts/docs.mjs', '--check'])
    run(process.execPath, ['scripts/check-version.mjs'])
    run(process.execPath, ['scripts/check-workflows.mjs'])
  },
  types() {
    tool('typescript/bin/tsc', ['-p', '__test__/types'])
    tool('typescript/bin/tsc', ['-p', '__test__/types/tsconfig.inexact.json'])
    tool('typescript/bin/tsc', ['-p', '.'])
  },
  javascript() {
    tool('vitest/vitest.mjs', ['run'])
  },
}

checkNode()
checkRust('fmt', 'clippy')
installPackages()
const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(steps)
const times = chosen.map((name) => {
  if (!(name in steps)) fail(`There is no step ${name}; the steps are ${Object.keys(steps).join(', ')}`)
  say(`${name}: ${describe(name)}`)
  const start = performance.now()
  steps[name]()
  return [name, (performance.now() - start) / 1000]
})
say('Everything holds')
for (const [name, seconds] of times) console.log(`  ${name.padEnd(12)}${seconds.toFixed(1).padStart(7)} s`)
console.log(`\nsteps: ${times.length} passed, 0 failed`)

function describe(name) {
  const what = {
    format: 'cargo fmt',
    lints: 'clippy, with and without the binding',
    rust: 'the core on this machine and on the simulated one',
    mutants: 'with a fault put in, the explorer finds what it leads to',
    build: 'the addon, and whether index.js and index.d.ts are what the sources generate',
    documents: 'docs/api is what index.d.ts makes, one version everywhere, the workflows linted',
    types: 'index.d.ts and the type tests, strict, with and without exactOptionalPropertyTypes',
    javascript: 'the functions as JavaScript sees them',
  }
  return what[name]
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 17)) fail(`The tools need Node 20.17 or later, and this is ${process.version}.`)
}

function tool(script, args) {
  run(process.execPath, [path.join('node_modules', script), ...args], { what: path.basename(script) })
}

/** Build aside, compare what is generated with what is committed, and only then put the binary in place. */
function buildAndCompare() {
  const aside = path.join(root, 'target', 'addon')
  mkdirSync(aside, { recursive: true })
  build({ release: true, into: aside })
  for (const name of ['index.js', 'index.d.ts']) {
    const [committed, generated] = [root, aside].map((folder) => readFileSync(path.join(folder, name), 'utf8'))
    if (committed !== generated) fail(`${name} is not what the sources generate: run \`npm run build\` and commit it.`)
  }
  for (const name of readdirSync(aside).filter((name) => name.endsWith('.node'))) {
    // A name of its own for each binary: one that is loaded somewhere must not change under it.
    rmSync(path.join(root, name), { force: true })
    copyFileSync(path.join(aside, name), path.join(root, name))
  }
  run(process.execPath, ['scripts/compat.mjs', '--check'])
}
