// The namespace has the signatures of harness 0.45.0: schema 2 where a record is involved, the very same functions where
// none is.

import type * as native from '../../index.js'
import * as servers from '../../index.js'
import { custody } from '../../index.js'
import { same } from './same.js'

declare namespace harness {
  interface ServerRecord {
    schema_version: 2
    id: string
    registration_id: string
    kind: 'service' | 'session'
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
}

type Row = custody.ServerRecord
type Options = custody.ServerOptions
type Fits<A, B> = A extends B ? true : false

// A record of the harness is one of ours, and ours is one of the harness's; what ours carries besides is named.
same<Fits<harness.ServerRecord, Row>, true>(true)
same<Fits<Row, harness.ServerRecord>, true>(true)
same<Exclude<keyof Row, keyof harness.ServerRecord>, 'witness' | 'pids_witnesses'>(true)
same<custody.ServerView['record'], Row>(true)
same<custody.ServersReport['servers'], custody.ServerView[]>(true)
same<custody.ServersReport['schema_version'], 1>(true)
same<typeof custody.SERVER_RECORD_SCHEMA_VERSION, 2>(true)
same<typeof custody.SERVER_DEFAULT_IDLE_HOURS, 2>(true)
same<typeof custody.SERVER_DEFAULT_OWNER_STALE_HOURS, 24>(true)

same<typeof custody.registerServer, (input: custody.RegisterServerInput, options?: Options) => Row | null>(true)
same<typeof custody.tryRegisterServer, (input: custody.RegisterServerInput, options?: Options) => Row | null>(true)
same<typeof custody.unregisterServer, (record: Row, options?: Options) => boolean>(true)
same<typeof custody.readServer, (id: string, options?: Options) => Row | null>(true)
same<typeof custody.readServerRecords, (options?: Options) => Row[]>(true)
same<typeof custody.touchServer, (id: string, options?: Options & { now?: Date }) => void>(true)
same<typeof custody.createServerToucher, (id: string, options?: Options) => () => void>(true)
same<typeof custody.serverState, (record: Row) => custody.ServerState>(true)
same<typeof custody.listServers, (options?: custody.ListServersOptions) => custody.ServersReport>(true)
same<typeof custody.adoptServer, (pid: number, options?: custody.AdoptServerOptions) => Row>(true)
same<typeof custody.allocateServerPort, (type: string, options?: Options) => number | null>(true)
same<typeof custody.stopServer, (record: Row, options?: custody.StopServerOptions) => Promise<custody.StopResult>>(true)
same<typeof custody.planServerGc, (views: custody.ServerView[], policy?: custody.GcPolicy) => custody.GcDecision[]>(true)
same<
  typeof custody.findUnregisteredListeners,
  (coordRoot: string, servers: custody.ServerView[]) => custody.UnregisteredListener[]
>(true)
same<typeof custody.tunnelServerId, (name: string) => string>(true)
same<typeof custody.tunnelServerInput, (state: custody.TunnelState, coordRoot: string) => custody.RegisterServerInput>(true)
same<typeof custody.createTunnelReadinessVerifier, (options: Options) => custody.TunnelReadinessVerifier>(true)

// What is shared is shared.
same<typeof custody.serverId, typeof servers.serverId>(true)
same<typeof custody.processStartToken, typeof servers.processStartToken>(true)
same<typeof custody.signalIfSameGeneration, typeof servers.signalIfSameGeneration>(true)
same<typeof custody.verifyProcessGeneration, typeof servers.verifyProcessGeneration>(true)
same<typeof custody.acquireNoClobberLease, typeof servers.acquireNoClobberLease>(true)
same<typeof custody.listListeningSockets, typeof servers.listListeningSockets>(true)

// Custody is generic in what the effect gives; a promise stays one, a plain value too.
export function held(record: Row): void {
  const promised = custody.withServerRegistrationCustody(record, {}, async () => 'later' as const)
  same<typeof promised, Promise<'later'>>(true)
  const thenable = custody.withServerRegistrationCustody(record, {}, (): PromiseLike<number> => Promise.resolve(1))
  same<typeof thenable, Promise<number>>(true)
  const plain = custody.withServerRegistrationCustody(record, {}, () => ({ some: 'value' }))
  same<typeof plain, { some: string }>(true)
  // @ts-expect-error the options may be empty, but are given
  custody.withServerRegistrationCustody(record, () => 1)
}

same<typeof servers.migrateServerRecords, (coordRoot: string, to: 1 | 2) => native.ServerMigration>(true)
same<native.ServerMigration, { migrated: string[]; kept: { id: string; reason: string }[] }>(true)

export function refusals(one: native.ServerRecord, two: Row): void {
  // @ts-expect-error a record of the current contract has no custody
  custody.unregisterServer(one)
  // @ts-expect-error a custody record is none of the current contract
  servers.serverState(two)
  // @ts-expect-error a removal asks for the receipt, not for the id
  custody.unregisterServer('a')
  // @ts-expect-error there are two schemas
  servers.migrateServerRecords('/w', 3)
}
