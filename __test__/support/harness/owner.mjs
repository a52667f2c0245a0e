// Owner and claim files as the harness reads and writes them.

import { createHash } from 'node:crypto'
import { join } from 'node:path'

export const SAFE_COMPONENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/
export const SHA256 = /^[0-9a-f]{64}$/
const OWNER_LIMIT = 8_192
const CLAIM_LIMIT = 16 * 1_024

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')

/** An owner file: its bytes and what they say. A file that is not there is the bare `ENOENT`. */
export function readOwner(files, path) {
  const bytes = readPlainFile(files, path, OWNER_LIMIT, 'lease owner')
  return { bytes, owner: owner(parse(bytes, path, 'lease owner'), path) }
}

/** `claim.json` of a recovery: who replaces whom. */
export function readClaim(files, recovery) {
  const path = join(recovery, 'claim.json')
  const claim = parse(readPlainFile(files, path, CLAIM_LIMIT, 'lease recovery claim'), path, 'lease recovery claim')
  if (
    claim.schema_version !== 1 ||
    !SHA256.test(claim.observed_sha256 ?? '') ||
    !isRecord(claim.claimant) ||
    !isRecord(claim.observed_owner) ||
    claim.created_at !== claim.claimant.created_at
  ) {
    throw new Error(`lease recovery claim at ${path} has an unsupported schema`)
  }
  owner(claim.claimant, path)
  owner(claim.observed_owner, path)
  return claim
}

export const claimText = (claimant, observed) =>
  `${JSON.stringify({
    schema_version: 1,
    claimant,
    observed_owner: observed.owner,
    observed_sha256: sha256(observed.bytes),
    created_at: claimant.created_at,
  })}\n`

function readPlainFile(files, path, limit, what) {
  let stat
  try {
    stat = files.lstatSync(path)
  } catch (error) {
    if (error.code === 'ENOENT') throw error
    throw new Error(`${what} at ${path} cannot be inspected`, { cause: error })
  }
  if (!stat.isFile() || stat.size < 1 || stat.size > limit) throw new Error(`${what} at ${path} bytes are invalid`)
  try {
    return files.readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') throw error
    throw new Error(`${what} at ${path} cannot be read`, { cause: error })
  }
}

function parse(text, path, what) {
  let value
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`${what} at ${path} is corrupt`, { cause: error })
  }
  if (!isRecord(value)) throw new Error(`${what} at ${path} is corrupt`)
  return value
}

function owner(value, path) {
  const valid =
    value.schema_version === 1 &&
    typeof value.owner_id === 'string' &&
    value.owner_file === `owner-${value.owner_id}.json` &&
    SAFE_COMPONENT.test(value.owner_file) &&
    SAFE_COMPONENT.test(value.scope ?? '') &&
    SHA256.test(value.authority_sha256 ?? '') &&
    (value.metadata === undefined || isMetadata(value.metadata)) &&
    Number.isSafeInteger(value.pid) &&
    value.pid > 0 &&
    typeof value.host === 'string' &&
    value.host.length > 0 &&
    isTimestamp(value.created_at) &&
    isTimestamp(value.expires_at)
  if (!valid) throw new Error(`lease owner at ${path} has an unsupported schema`)
  return value
}

function isMetadata(value) {
  if (!isRecord(value)) return false
  const entries = Object.entries(value)
  return (
    entries.length <= 20 &&
    entries.every(([key, text]) => SAFE_COMPONENT.test(key) && typeof text === 'string' && text.length <= 1_000)
  )
}

const isRecord = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)
const isTimestamp = (value) => typeof value === 'string' && Number.isFinite(Date.parse(value))
