// node scripts/performance.mjs: docs/performance.json (npm run bench -- --json docs/performance.json) as the table of
// docs/performance.md and its plots, one for each family of cases.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { counted } from '../benches/calls.mjs'
import { limited, measured } from '../benches/harness.mjs'
import { barPlot } from './performance/bars.mjs'
import { growthPlot } from './performance/growth.mjs'
import { root } from './prepare.mjs'

const docs = path.join(root, 'docs')
const { machine, results } = JSON.parse(readFileSync(path.join(docs, 'performance.json'), 'utf8'))

const families = Map.groupBy ? Map.groupBy(results, family) : grouped(results)
mkdirSync(path.join(docs, 'performance'), { recursive: true })
const plots = []
for (const [name, cases] of families) {
  const svg = cases.some(({ points }) => points) ? growthPlot(name, cases) : barPlot(name, cases.filter(({ ours }) => ours))
  const file = path.join('performance', `${name}.svg`)
  writeFileSync(path.join(docs, file), svg)
  plots.push([name, file])
}

const page = path.join(docs, 'performance.md')
const text = readFileSync(page, 'utf8')
const parts = {
  machine: `${machine.cpu}, ${machine.cores} processors, Linux ${machine.kernel}, Node ${machine.node}.`,
  table: tables(),
  calls: operations(),
}
writeFileSync(page, Object.entries(parts).reduce((all, [mark, content]) => replaced(all, mark, content), text))

function tables() {
  return [...families].map(([name, cases]) => `### ${name}\n\n${table(cases)}\n\n![${name}](${plots.find(([plot]) => plot === name)[1]})`).join('\n\n')
}

function table(cases) {
  const heads = cases.some(({ points }) => points)
    ? ['case', 'smallest … largest', 'sizes', 'growth', 'goal', '']
    : ['case', 'ours: median (10 % … 90 %)', 'reference', 'ratio', 'goal', '']
  const rows = cases.map((one) => [`${one.name}: ${one.what}`, ...measured(one), limited(one.limit, one.unit), one.met ? 'reached' : '**not reached**'])
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** What benches/<operation>.calls list. */
function operations() {
  const folder = path.join(root, 'benches')
  const files = readdirSync(folder).filter((file) => file.endsWith('.calls')).sort()
  const rows = files.map((file) => {
    const text = readFileSync(path.join(folder, file), 'utf8')
    const [, what] = /^# (.*?)\. Written/.exec(text)
    return `| ${what} | ${counted(text).replace(' system calls: ', ' | ')} |`
  })
  return ['', '| operation | calls | which |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

/** What stands between two marks of the page. */
function replaced(text, mark, content) {
  const [start, end] = [`<!-- ${mark} -->`, `<!-- end of ${mark} -->`]
  const [from, to] = [text.indexOf(start), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no ${start} … ${end}`)
  return `${text.slice(0, from + start.length)}\n${content}\n${text.slice(to)}`
}

function family({ name }) {
  return name.split('/')[0]
}

function grouped(all) {
  const map = new Map()
  for (const one of all) map.set(family(one), [...(map.get(family(one)) ?? []), one])
  return map
}
