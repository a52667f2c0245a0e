// node scripts/publish.mjs [--provenance]: publish every tarball in dist/, the platforms' first, so that
// the root package never names what is not there. One version for all; a version that is there already is left alone, so
// that a release that was interrupted can be run again.

import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { fail, root, run, say } from './prepare.mjs'

/** What npm is called with. A version before a release (with a hyphen) is no one's default; npm takes none without a tag of its own. */
export function publishArguments(version, tarball, { provenance = false } = {}) {
  const tag = version.includes('-') ? ['--tag', 'next'] : []
  return ['publish', ...(provenance ? ['--provenance'] : []), '--access', 'public', ...tag, tarball]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) publishAll()

function publishAll() {
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
    if (isThere(published, version)) {
      say(`${published}@${version} is there already`)
      continue
    }
    say(`Publishing ${published}@${version}`)
    run('npm', publishArguments(version, path.join(dist, tarball), values))
  }
}

function isThere(published, version) {
  const { status, stdout } = spawnSync('npm', ['view', `${published}@${version}`, 'version'], { encoding: 'utf8' })
  return status === 0 && stdout.trim() === version
}
