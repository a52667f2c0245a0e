// What a script would use instead: packages of benches/package.json, installed when they are first needed.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { root, run, say } from '../scripts/prepare.mjs'

const here = path.join(root, 'benches')
let installed = false

/** A package's module. */
export async function packaged(name) {
  if (!installed && !isInstalled()) {
    say('Installing the packages to compare with from benches/package-lock.json (npm ci)')
    run('npm', ['ci', '--prefix', here, '--no-audit', '--no-fund', '--loglevel=error'])
  }
  installed = true
  const module = await import(createRequire(path.join(here, 'package.json')).resolve(name))
  return module.default ?? module
}

function isInstalled() {
  const kept = path.join(here, 'node_modules', '.package-lock.json')
  if (!existsSync(kept)) return false
  const versions = (file) =>
    Object.entries(JSON.parse(readFileSync(file, 'utf8')).packages)
      .filter(([name]) => name !== '')
      .map(([name, { version }]) => `${name}@${version}`)
      .sort()
      .join()
  return versions(kept) === versions(path.join(here, 'package-lock.json'))
}
