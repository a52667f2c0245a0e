// node scripts/publish.mjs [--provenance]: publish every tarball in dist/, the platforms' first, so that
// the root package never names what is not there. One version for all; a version that is there already is left alone, so
// that a release that was interrupted can be run again.

import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { fail, root, run, say } from './prepare.mjs'

const { values } = parseArgs({ options: { provenance: { type: 'boolean' } } })
const { name, version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const dist = path.join(root, 'dist')

const tarballs = readdirSync(dist).filter((file) => file.endsWith('.tgz'))
const other = tarballs.filter((file) => !file.endsWith(`-${version}.tgz`))
if (other.length > 0) fail(`dist/ holds another version than ${version}: ${other.join(', ')}`)
const last = `${name}-${version}.tgz`
if (!tarballs.includes(last)) fail(`dist/ has no ${last}: run npm run package`)

for (const tarball of [...tarballs.filter((file) => file !== last), last]) {
  const published = tarball.slice(0, -`-${version}.tgz`.length)
  if (isThere(published)) {
    say(`${published}@${version} is there already`)
    continue
  }
  say(`Publishing ${published}@${version}`)
  run('npm', ['publish', ...(values.provenance ? ['--provenance'] : []), '--access', 'public', path.join(dist, tarball)])
}

function isThere(published) {
  const { status, stdout } = spawnSync('npm', ['view', `${published}@${version}`, 'version'], { encoding: 'utf8' })
  return status === 0 && stdout.trim() === version
}
