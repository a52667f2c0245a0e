// The registry: against the same work done with node:fs and the text files of /proc.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { timed } from '../harness.mjs'

const RECORDS = 1000

export default [
  {
    name: 'servers/list-1000',
    what: `listServers of ${RECORDS} running records without a scan for other listeners`,
    limit: { ratio: 1 / 5 },
    samples: 10,
    async setup() {
      const { listServers, registerServer } = await import('../../index.js')
      const coordRoot = mkdtempSync(path.join(memory(), 'servers-'))
      const types = ['preview', 'dashboard', 'tunnel', 'docs']
      for (let number = 0; number < RECORDS; number++) {
        const scope = path.join(coordRoot, `work-tree-${number % 40}`)
        mkdirSync(scope, { recursive: true })
        const input = { kind: number % 3 ? 'session' : 'service', type: types[number % 4], id: `server-${number}`, scope, port: 20000 + number }
        registerServer({ ...input, owner: { instance_id: `agent-${number}` } }, { coordRoot })
      }
      const ours = () => listServers({ coordRoot, scan: false })
      const reference = () => listWithNode(coordRoot)
      const states = [ours(), reference()].map(({ servers }) => servers.map(({ record, state }) => `${record.id} ${state}`).join())
      if (states[0] !== states[1]) throw new Error('the reference lists something else')
      return { ours: timed(ours), reference: timed(reference), end: () => rmSync(coordRoot, { recursive: true }) }
    },
  },
]

function memory() {
  return statSync('/dev/shm', { throwIfNoEntry: false })?.isDirectory() ? '/dev/shm' : os.tmpdir()
}

/** What a script does to list the same. */
export function listWithNode(coordRoot) {
  const folder = path.join(coordRoot, '.harnery', 'servers')
  const records = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => readRecord(path.join(folder, name)))
    .filter((record) => record !== null)
    .sort((a, b) => a.kind.localeCompare(b.kind) || a.type.localeCompare(b.type) || a.id.localeCompare(b.id))
  const connections = countConnections(new Set(records.map(({ port }) => port)))
  const now = Date.now()
  const servers = records.map((record) => {
    const last = record.last_active_at ?? record.registered_at
    const state = stateOf(record)
    return {
      record,
      state,
      owner_state: record.owner ? 'unknown' : 'none',
      connections: state === 'running' && record.port ? (connections.get(record.port) ?? 0) : null,
      last_active_at: last,
      idle_ms: Math.max(0, now - Date.parse(last)),
    }
  })
  return { schema_version: 1, coord_root: coordRoot, scan: 'procfs', servers, unregistered: [], pruned: [] }
}

function readRecord(file) {
  try {
    if (statSync(file).size > 64 * 1024) return null
    const value = JSON.parse(readFileSync(file, 'utf8'))
    const valid = value?.schema_version === 1 && typeof value.id === 'string' && Number.isSafeInteger(value.pid)
    return valid && (value.kind === 'service' || value.kind === 'session') ? value : null
  } catch {
    return null
  }
}

function stateOf(record) {
  if (record.host !== os.hostname()) return 'other-host'
  try {
    process.kill(record.pid, 0)
  } catch (error) {
    if (error.code !== 'EPERM') return 'dead'
  }
  return record.start_token === undefined || startToken(record.pid) === record.start_token ? 'running' : 'dead'
}

const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replaceAll('-', '').slice(0, 8)

function startToken(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return `l${boot}.${stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[19]}`
}

/** By port, for these. */
export function countConnections(ports) {
  const counts = new Map()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(file, 'utf8').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      if (fields[3] !== '01' && fields[3] !== '03') continue
      const port = parseInt(fields[1].split(':')[1], 16)
      if (ports.has(port)) counts.set(port, (counts.get(port) ?? 0) + 1)
    }
  }
  return counts
}
