// The server registry's files a second time, in plain JavaScript: what harness 0.45.1 writes and reads (schema 1).

import { createHash, randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'

const SCHEMA_VERSION = 1
const RECORD_LIMIT = 64 * 1_024
const VALID_ID = /^[a-z0-9][a-z0-9._-]{0,95}$/

export const serversDir = (coordRoot) => join(coordRoot, '.harnery', 'servers')

export function serverId(type, scope) {
  const family = slug(type) || 'server'
  if (scope === undefined) return family
  const path = resolve(scope)
  const digest = createHash('sha256').update(path).digest('hex').slice(0, 6)
  return [family, slug(basename(path)).slice(0, 32), digest].filter(Boolean).join('-')
}

const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')

export function registerServer(input, { coordRoot }) {
  const pid = input.pid ?? process.pid
  if (!Number.isSafeInteger(pid) || pid <= 0) throw new Error(`invalid server pid: ${pid}`)
  if (input.port !== undefined && !(Number.isSafeInteger(input.port) && input.port > 0 && input.port <= 65_535)) {
    throw new Error(`invalid server port: ${input.port}`)
  }
  const id = input.id ?? serverId(input.type, input.scope)
  const now = new Date().toISOString()
  const startToken = input.start_token ?? processStartToken(pid)
  const pids = [...new Set(input.pids?.filter((p) => Number.isSafeInteger(p) && p > 0))]
  const pidsStartTokens = {}
  for (const helper of pids) {
    const token = processStartToken(helper)
    if (token) pidsStartTokens[helper] = token
  }
  const record = {
    schema_version: SCHEMA_VERSION,
    id,
    kind: input.kind,
    type: input.type,
    label: input.label ?? id,
    ...(input.url ? { url: input.url } : {}),
    ...(input.port ? { port: input.port } : {}),
    pid,
    ...(startToken ? { start_token: startToken } : {}),
    ...(pids.length ? { pids, pids_start_tokens: pidsStartTokens } : {}),
    host: hostname(),
    ...(input.scope ? { scope: resolve(input.scope) } : {}),
    ...(input.cwd ? { cwd: resolve(input.cwd) } : {}),
    ...(input.log ? { log: resolve(input.log) } : {}),
    ...(input.owner ? { owner: input.owner } : {}),
    started_at: input.started_at ?? now,
    registered_at: now,
    last_active_at: now,
  }
  if (input.start_token !== undefined && processStartToken(pid) !== input.start_token) {
    throw new Error(`pid ${pid} generation could not be verified before registration`)
  }
  writePrivateJsonAtomic(recordPath(coordRoot, id), record)
  return record
}

export function unregisterServer(id, { coordRoot, pid }) {
  if (!VALID_ID.test(id)) return false
  const path = recordPath(coordRoot, id)
  if (pid !== undefined) {
    const record = readRecord(path)
    if (record && record.pid !== pid) return false
  }
  if (!existsSync(path)) return false
  rmSync(path, { force: true })
  return true
}

export function touchServer(id, { coordRoot, now }) {
  if (!VALID_ID.test(id)) return
  const path = recordPath(coordRoot, id)
  const record = readRecord(path)
  if (!record) return
  writePrivateJsonAtomic(path, { ...record, last_active_at: (now ?? new Date()).toISOString() })
}

export function readServer(id, { coordRoot }) {
  return VALID_ID.test(id) ? readRecord(recordPath(coordRoot, id)) : null
}

export function readServerRecords({ coordRoot }) {
  const dir = serversDir(coordRoot)
  if (!existsSync(dir)) return []
  return readdirSync(dir)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readRecord(join(dir, name)))
    .filter((record) => record !== null)
    .sort((a, b) => a.kind.localeCompare(b.kind) || a.type.localeCompare(b.type) || a.id.localeCompare(b.id))
}

function recordPath(coordRoot, id) {
  if (!VALID_ID.test(id)) throw new Error(`invalid server id: ${id}`)
  return join(serversDir(coordRoot), `${id}.json`)
}

function readRecord(path) {
  try {
    if (statSync(path).size > RECORD_LIMIT) return null
    const value = JSON.parse(readFileSync(path, 'utf8'))
    if (
      value?.schema_version !== SCHEMA_VERSION ||
      typeof value.id !== 'string' ||
      !Number.isSafeInteger(value.pid) ||
      (value.kind !== 'service' && value.kind !== 'session')
    ) {
      return null
    }
    return value
  } catch {
    return null
  }
}

/** One compact line under a temporary name, then renamed over: a reader never sees a part. */
function writePrivateJsonAtomic(path, value) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.tmp.${process.pid}.${randomUUID()}`
  try {
    writeFileSync(temporary, `${JSON.stringify(value)}\n`, { mode: 0o600, flag: 'wx' })
    chmodSync(temporary, 0o600)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

/** `l<boot>.<ticks>`, from procfs; null where there is none. */
export function processStartToken(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const ticks = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[19]
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replaceAll('-', '').slice(0, 8)
    return `l${boot}.${ticks}`
  } catch {
    return null
  }
}
