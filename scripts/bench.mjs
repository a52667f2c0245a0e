// npm run bench [-- name …] [--json FILE]: measure the cases whose names hold one of the words (all without any).

import { readdirSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { measure, table } from '../benches/harness.mjs'
import { build, fail, installPackages, root, say } from './prepare.mjs'

const { values, positionals: words } = parseArgs({ options: { json: { type: 'string' } }, allowPositionals: true })

installPackages()
build({ release: true })

const cases = (await allCases()).filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
if (cases.length === 0) fail(`No case is called ${words.join(' or ')}.`)

const results = []
for (const bench of cases) {
  say(`${bench.name}: ${bench.what}`)
  const result = await measure(bench)
  result.notes.forEach((note) => console.log(`  ${note}`))
  results.push(result)
}
console.log(`\n${table(results)}`)

if (values.json) writeFileSync(values.json, `${JSON.stringify({ machine: machine(), results }, null, 2)}\n`)
const missed = results.filter(({ met }) => !met)
if (missed.length > 0) fail(`Over the limit: ${missed.map(({ name }) => name).join(', ')}`)

async function allCases() {
  const folder = path.join(root, 'benches', 'cases')
  const modules = await Promise.all(readdirSync(folder).sort().map((file) => import(path.join(folder, file))))
  return modules.flatMap((module) => module.default)
}

function machine() {
  const [{ model }] = os.cpus()
  return { cpu: model, cores: os.cpus().length, kernel: os.release().replace(/-.*/, ''), node: process.version }
}
