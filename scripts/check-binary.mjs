// node scripts/check-binary.mjs FILE PLATFORM: what a binary must be to be published.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import whole from '../whole.js'
import { fail } from './prepare.mjs'

/** What was asked for is 1.5 MB; where the rest comes from is in CONTRIBUTING.md. This keeps it from growing unseen. */
const LIMIT = 2.75 * 1024 * 1024
const OLDEST_GLIBC = [2, 17]

/** Its size, and for glibc the newest version that it asks for: the names stand as they are among its strings. */
export function checkBinary(file, platform) {
  const bytes = readFileSync(file)
  if (bytes.length > LIMIT) fail(`${file} has ${bytes.length} bytes; at most ${LIMIT} are published`)
  checkLoadable(file, platform)
  if (bytes.includes('.symtab')) fail(`${file} is not stripped`)
  const versions = [...bytes.toString('latin1').matchAll(/GLIBC_(\d+)\.(\d+)/g)].map((found) => [Number(found[1]), Number(found[2])])
  const newest = versions.sort(([a, b], [c, d]) => a - c || b - d).at(-1)
  if (platform.endsWith('-gnu')) {
    if (!newest) fail(`${file} names no version of glibc`)
    if (newest[0] !== OLDEST_GLIBC[0] || newest[1] > OLDEST_GLIBC[1]) fail(`${file} needs glibc ${newest.join('.')}; published are binaries for ${OLDEST_GLIBC.join('.')}`)
  }
  const glibc = newest?.join('.')
  console.log(`${platform}: ${(bytes.length / 1024).toFixed(0)} KiB${glibc ? `, needs glibc ${glibc}` : ''}`)
  return { size: bytes.length, glibc }
}

/** The loader holds a block of zeros for one that was never written, so no binary may have one of its own. */
function checkLoadable(file, platform) {
  const [os] = platform.split('-')
  try {
    whole.checkWhole(file, os)
    if (os === 'linux') whole.checkBlocks(file)
  } catch (error) {
    fail(`The loader would refuse it: ${error.message}`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) checkBinary(process.argv[2], process.argv[3])
