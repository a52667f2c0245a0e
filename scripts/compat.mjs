// node scripts/compat.mjs [--check]: the harness's module layout, made from compat/layout.json.
//
// Each of its modules becomes a small file that hands on this package's exports, so that a harness changes one import
// path at a time. A name in the layout that this package does not have is an error. --check: only compare.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

import { fail, root } from './prepare.mjs'

const layout = JSON.parse(readFileSync(path.join(root, 'compat', 'layout.json'), 'utf8'))
const native = createRequire(import.meta.url)(path.join(root, 'index.js'))
const declared = readFileSync(path.join(root, 'index.d.ts'), 'utf8')

const stale = []
for (const [module, content] of Object.entries(layout)) {
  const file = path.join(root, 'compat', module)
  const back = `${'../'.repeat(module.split('/').length)}index.js`
  const { values, types } = names(content)
  write(`${file}.js`, javascript(back, content.namespace, values))
  write(`${file}.d.ts`, declarations(back, content.namespace, values, types))
}
if (stale.length > 0) fail(`compat/ is not what compat/layout.json makes: ${stale.join(', ')}; run node scripts/compat.mjs`)

function names({ namespace, values, types }) {
  const from = namespace ? native[namespace] : native
  const all = { values: values ?? Object.keys(from).sort(), types: types ?? typesOf(namespace) }
  const missing = [
    ...all.values.filter((name) => !(name in from)),
    ...all.types.filter((name) => !new RegExp(`export (?:interface|type) ${name}\\b`).test(declared)),
  ]
  if (missing.length > 0) fail(`compat/layout.json names what the package does not export: ${missing.join(', ')}`)
  return all
}

/** The types that the namespace declares itself or hands on. */
function typesOf(namespace) {
  const bodies = [...declared.matchAll(new RegExp(`^export declare namespace ${namespace} \\{([^]*?)^\\}`, 'gm'))].map(([, body]) => body)
  const found = bodies.flatMap((body) => [...body.matchAll(/export (?:interface|type) (\w+)/g)].map(([, name]) => name))
  const handedOn = bodies.flatMap((body) => [...body.matchAll(/export \{([^}]*)\}/g)].flatMap(([, list]) => list.split(',').map((name) => name.trim().split(' as ').at(-1))))
  return [...new Set([...found, ...handedOn])].filter((name) => /^[A-Z][a-z]/.test(name)).sort()
}

function javascript(back, namespace, values) {
  const from = namespace ? `require('${back}').${namespace}` : `require('${back}')`
  const lines = values.map((name) => `module.exports.${name} = native.${name}`)
  return `// Generated from compat/layout.json; do not edit.\n'use strict'\n\n${values.length > 0 ? `const native = ${from}\n\n` : ''}${lines.join('\n')}\n`
}

function declarations(back, namespace, values, types) {
  const head = '// Generated from compat/layout.json; do not edit.\n\n'
  if (!namespace) {
    const parts = [values.length > 0 && `export { ${values.join(', ')} } from '${back}'`, types.length > 0 && `export type { ${types.join(', ')} } from '${back}'`]
    return `${head}${parts.filter(Boolean).join('\n')}\n`
  }
  const lines = [...values, ...types].map((name) => `export import ${name} = ${namespace}.${name}`)
  return `${head}import { ${namespace} } from '${back}'\n\n${lines.join('\n')}\n`
}

function write(file, text) {
  const now = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  if (now === text) return
  if (process.argv.includes('--check')) {
    stale.push(path.relative(root, file))
    return
  }
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}
