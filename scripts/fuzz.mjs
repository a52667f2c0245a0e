// npm run fuzz [-- target …] [--seconds N]: the fuzzer on each target, N seconds each (60 unless said), on the stable toolchain.
//
// Inputs that it finds interesting go to fuzz/corpus/, which is not committed; one that breaks a property to fuzz/artifacts/.
// What it broke and was mended becomes a seed: `cp fuzz/artifacts/<target>/crash-… fuzz/seeds/<target>/<what it is>`.

import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fail, root, say } from './prepare.mjs'

const targets = readdirSync(path.join(root, 'fuzz', 'seeds')).sort()
const given = process.argv.slice(2)
const at = given.indexOf('--seconds')
const seconds = at === -1 ? 60 : Number(given.splice(at, 2)[1])
if (!(seconds > 0)) fail('--seconds takes a number of seconds for each target.')
const unknown = given.find((name) => !targets.includes(name))
if (unknown) fail(`There is no target ${unknown}; the targets are ${targets.join(', ')}.`)
if (spawnSync('cargo', ['fuzz', '--version']).status !== 0) {
  fail('cargo-fuzz is missing: cargo install cargo-fuzz --locked')
}

const rows = (given.length > 0 ? given : targets).map((name) => {
  say(`${name}: ${seconds} s`)
  const [corpus, seeds] = ['corpus', 'seeds'].map((folder) => path.join('fuzz', folder, name))
  mkdirSync(path.join(root, corpus), { recursive: true })
  // Without a sanitizer: those need a nightly compiler, and there is next to no unsafe code to watch.
  const limits = [`-max_total_time=${seconds}`, '-max_len=8192', '-timeout=10', '-print_final_stats=1']
  const done = spawnSync('cargo', ['fuzz', 'run', '-s', 'none', name, corpus, seeds, '--', ...limits], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  const runs = /number_of_executed_units: (\d+)/.exec(done.stderr)?.[1]
  if (done.status !== 0) console.error(done.stderr.split('\n').slice(-60).join('\n'))
  return { name, runs: Number(runs ?? 0), violations: done.status === 0 ? 0 : 1 }
})

say('Fuzzed')
for (const { name, runs, violations } of rows) {
  console.log(`  ${name.padEnd(16)}${String(runs).padStart(12)} inputs${String(violations).padStart(4)} violations`)
}
// For the table of `npm run prove`.
const table = process.env.HARNERY_PROVE_ROWS
for (const { name, runs, violations } of table ? rows : []) {
  appendFileSync(table, `${JSON.stringify({ claim: `fuzz ${name}`, explored: `${runs} inputs`, violations })}\n`)
}
process.exit(rows.some(({ violations }) => violations > 0) ? 1 : 0)
