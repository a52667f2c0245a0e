// npm run test:packages [-- --packed] [-- FILE …]: the packages as their users get them, with a table at the end of
// what ran on which version.
//
// Packs them first (npm run package); --packed: what is in dist/ is tested as it is.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { fail, installPackages, root, run, say } from './prepare.mjs'

const { values, positionals } = parseArgs({ options: { packed: { type: 'boolean' } }, allowPositionals: true })

installPackages()
if (!values.packed) run(process.execPath, ['scripts/package.mjs'], { what: 'packing' })

const tests = path.join('__test__', 'packages')
const files = readdirSync(path.join(root, tests)).filter((name) => name.endsWith('.test.mjs'))
const chosen = files.filter((name) => positionals.length === 0 || positionals.some((word) => name.includes(word)))
if (chosen.length === 0) fail(`No file in ${tests} is called ${positionals.join(' or ')}`)

// One folder for all files, so that the tools are installed once.
const world = mkdtempSync(path.join(tmpdir(), 'harnery-native-packages-'))
const rows = path.join(world, 'rows')
writeFileSync(rows, '')
say(`Testing the packages: ${chosen.join(', ')}`)
const args = ['--test', '--test-reporter=spec', '--test-concurrency=1', ...chosen.map((name) => path.join(tests, name))]
const env = { ...process.env, HARNERY_NATIVE_PACKAGES_WORLD: world }
const done = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env })
const table = readFileSync(rows, 'utf8').trim().split('\n').filter(Boolean).map((line) => JSON.parse(line))
rmSync(world, { recursive: true })

say('What ran, and on which version')
const widths = [0, 1].map((column) => Math.max(0, ...table.map((row) => row[column].length)))
for (const [what, ranOn, result] of table) console.log(`  ${what.padEnd(widths[0])}  ${ranOn.padEnd(widths[1])}  ${result}`)
if (done.status !== 0) fail('Not everything above holds')
