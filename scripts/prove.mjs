// npm run prove [-- part …] [--minutes N]: the proofs of `npm test`, taken as far as the time allows (30 minutes unless
// said), and what they went through as one table. It ends non-zero when a promise was broken or a part did not end.
//
// The time is a wish: each proof goes so many times as far as in `npm test`, and a machine may be faster or slower than
// the one on which that was weighed up.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build, checkRust, fail, installPackages, root, say } from './prepare.mjs'

const CORE = ['--locked', '--no-default-features', '--features', 'sim', '--profile', 'prove']

const parts = {
  /** Every interleaving, power cut, failing call and kill: the core on the simulated machine and on this one. */
  core: ({ env }) => start('cargo', ['test', ...CORE, ...testCrates().flatMap((name) => ['--test', name])], env),
  /** Each rule left out, each fault put in: that they are found shows that the explorer sees. */
  mutants: ({ env }) => start(process.execPath, ['scripts/mutants.mjs'], env),
  /** Groups of the addon and a second implementation of the protocol, as processes. */
  mixed: ({ env }) => {
    build({ release: true })
    return start(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'mixed'], env)
  },
  /** Every parser, and operations in any order, on inputs by chance. */
  fuzz: ({ env, minutes }) => {
    const targets = readdirSync(path.join(root, 'fuzz', 'seeds')).length
    const seconds = Math.max(5, Math.round((minutes * 60 * SHARE.fuzz) / targets))
    return start(process.execPath, ['scripts/fuzz.mjs', '--seconds', String(seconds)], env)
  },
}

/** What is longer stands out of its column. */
const WIDEST = 80

/** How much of the time goes to the fuzzer; the rest goes to the others. */
const SHARE = { fuzz: 1 / 6 }

const given = process.argv.slice(2)
const at = given.indexOf('--minutes')
const minutes = at === -1 ? 30 : Number(given.splice(at, 2)[1])
if (!(minutes > 0)) fail('--minutes takes a number of minutes.')
const unknown = given.find((name) => !(name in parts))
if (unknown) fail(`There is no part ${unknown}; the parts are ${Object.keys(parts).join(', ')}.`)
const chosen = given.length > 0 ? given : Object.keys(parts)

checkRust()
if (chosen.includes('fuzz') && spawnSync('cargo', ['fuzz', '--version']).status !== 0) {
  fail('cargo-fuzz is missing: cargo install cargo-fuzz --locked (or name the parts that are to run without it)')
}
installPackages()

const folder = path.join(root, 'target', 'prove')
const rows = path.join(folder, 'rows.jsonl')
mkdirSync(folder, { recursive: true })
rmSync(rows, { force: true })
const effort = Math.max(1, Math.round(minutes * (1 - SHARE.fuzz)))
const env = { HARNERY_PROVE_EFFORT: String(effort), HARNERY_PROVE_ROWS: rows }

const failed = []
for (const name of chosen) {
  say(`${name}, ${effort} times as far as in npm test`)
  const began = performance.now()
  if (!parts[name]({ env, minutes })) failed.push(name)
  say(`${name}: ${((performance.now() - began) / 60_000).toFixed(1)} min`)
}

const text = table(read())
writeFileSync(path.join(folder, 'table.md'), text)
writeFileSync(path.join(folder, 'traces.md'), traces(read()))
console.log(`\n${text}\nThe traces stand in ${path.relative(root, path.join(folder, 'traces.md'))}.`)
const violations = read().reduce((sum, row) => sum + (row.violations ?? 0), 0)
if (failed.length > 0) fail(`Did not hold: ${failed.join(', ')}. What was found stands above.`)
if (violations > 0) fail(`${violations} violations.`)

function start(command, args, env) {
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  if (done.error) fail(`${command} could not be run: ${done.error.message}`)
  return done.status === 0
}

/** The test crates that have something to say for the table. */
function testCrates() {
  const tests = path.join(root, 'tests')
  const main = (name) => (name.endsWith('.rs') ? name : path.join(name, 'main.rs'))
  const saysSomething = (name) => existsSync(path.join(tests, main(name))) && /^mod proof;$/m.test(readFileSync(path.join(tests, main(name)), 'utf8'))
  return readdirSync(tests)
    .filter(saysSomething)
    .map((name) => path.basename(name, '.rs'))
}

function read() {
  if (!existsSync(rows)) return []
  return readFileSync(rows, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

function byFault(one, other) {
  return one.fault.localeCompare(other.fault, 'en') || one.steps - other.steps
}

function table(all) {
  const claims = all.filter((row) => 'claim' in row).sort((a, b) => a.claim.localeCompare(b.claim, 'en'))
  const faults = all.filter((row) => 'fault' in row).sort(byFault)
  return [
    ...lines(['claim', 'gone through', 'violations'], claims.map((row) => [row.claim, row.explored, row.violations])),
    '',
    ...lines(
      ['put in on purpose', 'found', 'in steps', 'gone through'],
      faults.map((row) => [row.fault, row.finding, row.steps, row.explored]),
    ),
    '',
  ].join('\n')
}

/** How each fault is come to. */
function traces(all) {
  const faults = all.filter((row) => 'fault' in row).sort(byFault)
  const one = ({ fault, finding, explored, trace }) => `## ${fault}\n\n${finding}: ${explored}.\n\n\`\`\`\n${trace.trimEnd()}\n\`\`\`\n`
  return ['# Traces\n', 'What leads to what, when something is done wrong on purpose: written by `npm run prove`.\n', ...faults.map(one)].join('\n')
}

function lines(heads, body) {
  const cells = [heads, ...body].map((row) => row.map((cell) => String(cell).replaceAll('|', '\\|')))
  const widths = heads.map((_, n) => Math.min(WIDEST, Math.max(...cells.map((row) => row[n].length))))
  const line = (row) => `| ${row.map((cell, n) => cell.padEnd(widths[n])).join(' | ')} |`
  const [first, ...rest] = cells.map(line)
  return [first, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest]
}
