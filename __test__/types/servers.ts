// The registry's signatures are the harness's: what it declares (below, as it has them) and what index.d.ts exports are
// one, or fit each other where a record carries more.

import type * as native from '../../index.js'
import * as servers from '../../index.js'
import { same } from './same.js'

declare namespace harness {
  type ServerKind = 'service' | 'session'
  type ServerState = 'running' | 'dead' | 'other-host'
  type OwnerState = 'live' | 'abandoned' | 'ended' | 'unknown' | 'none'
  interface ServerRecord {
    schema_version: 1
    id: string
    kind: ServerKind
    type: string
    label: string
    url?: string
    port?: number
    pid: number
    start_token?: string
    pids?: number[]
    pids_start_tokens?: Record<string, string>
    host: string
    scope?: string
    cwd?: string
    log?: string
    owner?: { instance_id: string; name?: string }
    started_at: string
    registered_at: string
    last_active_at?: string
  }
  interface RegisterServerInput {
    id?: string
    kind: ServerKind
    type: string
    label?: string
    url?: string
    port?: number
    pid?: number
    start_token?: string
    pids?: number[]
    scope?: string
    cwd?: string
    log?: string
    started_at?: string
    owner?: ServerRecord['owner'] | null
  }
  interface ServerView {
    record: native.ServerRecord
    state: ServerState
    owner_state: OwnerState
    connections: number | null
    last_active_at: string
    idle_ms: number
  }
  interface UnregisteredListener {
    pid: number
    port: number
    address: string
    command: string
    cwd: string | null
  }
  interface ServersReport {
    schema_version: 1
    coord_root: string
    scan: 'procfs' | 'lsof' | 'unsupported'
    servers: native.ServerView[]
    unregistered: native.UnregisteredListener[]
    pruned: string[]
  }
}

type Fits<A, B> = A extends B ? true : false

same<native.ServerKind, harness.ServerKind>(true)
same<native.ServerState, harness.ServerState>(true)
same<native.OwnerState, harness.OwnerState>(true)
same<native.UnregisteredListener, harness.UnregisteredListener>(true)
same<native.ServerView, harness.ServerView>(true)
same<native.ServersReport, harness.ServersReport>(true)
same<native.RegisterServerInput, harness.RegisterServerInput>(true)

// A record of the harness is one of ours, and ours is one of the harness's; what ours carries besides is named.
same<Fits<harness.ServerRecord, native.ServerRecord>, true>(true)
same<Fits<native.ServerRecord, harness.ServerRecord>, true>(true)
same<Exclude<keyof native.ServerRecord, keyof harness.ServerRecord>, 'registration_id' | 'witness' | 'pids_witnesses'>(true)

same<typeof servers.SERVER_RECORD_SCHEMA_VERSION, 1>(true)
same<typeof servers.SERVER_DEFAULT_IDLE_HOURS, 2>(true)
same<typeof servers.SERVER_DEFAULT_OWNER_STALE_HOURS, 24>(true)

type Options = native.ServerOptions
type Row = native.ServerRecord

same<typeof servers.serversDir, (coordRoot: string) => string>(true)
same<typeof servers.ensureServersDir, (coordRoot: string) => string>(true)
same<typeof servers.isValidServerId, (id: string) => boolean>(true)
same<typeof servers.serverId, (type: string, scope?: string) => string>(true)
same<typeof servers.registerServer, (input: native.RegisterServerInput, options?: Options) => Row | null>(true)
same<typeof servers.tryRegisterServer, (input: native.RegisterServerInput, options?: Options) => Row | null>(true)
same<typeof servers.unregisterServer, (id: string, options?: Options & { pid?: number }) => boolean>(true)
same<typeof servers.readServer, (id: string, options?: Options) => Row | null>(true)
same<typeof servers.readServerRecords, (options?: Options) => Row[]>(true)
same<typeof servers.touchServer, (id: string, options?: Options & { now?: Date }) => void>(true)
same<typeof servers.createServerToucher, (id: string, options?: Options) => () => void>(true)
same<typeof servers.serverState, (record: Row) => harness.ServerState>(true)
same<typeof servers.listServers, (options?: native.ListServersOptions) => native.ServersReport>(true)
same<typeof servers.allocateServerPort, (type: string, options?: Options) => number | null>(true)
same<ReturnType<typeof servers.serverPortRange>, [low: number, high: number] | null>(true)
same<ReturnType<typeof servers.serverGcConfig>, { idle_hours?: number; owner_stale_hours?: number }>(true)
same<typeof servers.planServerGc, (views: native.ServerView[], policy?: native.GcPolicy) => native.GcDecision[]>(true)
same<native.GcDecision, { id: string; action: 'stop' | 'keep'; reason: string }>(true)
same<typeof servers.listListeningPorts, () => Set<number>>(true)
same<typeof servers.establishedConnectionCounts, (ports: number[]) => Map<number, number>>(true)
same<native.ListeningSocket, { pid: number; port: number; address: string }>(true)

// Literals are literals, and members that records must have are asked for.
const input: native.RegisterServerInput = { kind: 'session', type: 'preview', owner: null }
servers.registerServer(input, { coordRoot: null })
// @ts-expect-error there are two kinds
servers.registerServer({ kind: 'job', type: 'preview' })
// @ts-expect-error a server has a type
servers.registerServer({ kind: 'session' })
// @ts-expect-error a Date, not a number
servers.touchServer('x', { now: 5 })
// @ts-expect-error the schema version is 1
const record: Pick<Row, 'schema_version'> = { schema_version: 2 }
void record
