/** The schema version of the records that the current contract reads and writes. */
export declare const SERVER_RECORD_SCHEMA_VERSION: 1
/** After how many hours without use a server may be stopped. */
export declare const SERVER_DEFAULT_IDLE_HOURS: 2
/** After how many hours without a sign of life an agent counts as gone. */
export declare const SERVER_DEFAULT_OWNER_STALE_HOURS: 24

/** `service`: one long-running copy, stopped by hand only. `session`: one copy per piece of work, which garbage collection may stop. */
export type ServerKind = 'service' | 'session'

/** `other-host` also where a server runs in another pid namespace of this host. */
export type ServerState = 'running' | 'dead' | 'other-host'

/** What is known of the agent that started a server; `none` when none is recorded. */
export type OwnerState = 'live' | 'abandoned' | 'ended' | 'unknown' | 'none'

/** What is recorded of a process so that it can be told from a later one with its number. */
export interface ProcessWitness {
  start_token?: string
  /** Inode of the process's pidfd; only where pidfds live on a file system of their own. */
  pidfd_inode?: string
  /** Inode of the pid namespace of the process that looked. */
  pid_namespace?: string
  /** Inode of the time namespace of the process that looked. */
  time_namespace?: string
}

/** One server's record, as it is on disk. Records hold whatever other fields their writers gave them, and keep them. */
export interface ServerRecord {
  schema_version: typeof SERVER_RECORD_SCHEMA_VERSION
  id: string
  kind: ServerKind
  /** Free-form family name: `preview`, `tunnel`, `dashboard`, … */
  type: string
  label: string
  url?: string
  port?: number
  pid: number
  start_token?: string
  /** Helper processes. */
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
  /** The receipt of this registration; written by this addon. */
  registration_id?: string
  /** Written by this addon. */
  witness?: ProcessWitness
  /** Written by this addon. */
  pids_witnesses?: Record<string, ProcessWitness>
}

/** What a server is registered as. */
export interface RegisterServerInput {
  /** Made of `type` and `scope` when left out. */
  id?: string
  kind: ServerKind
  type: string
  /** The id when left out. */
  label?: string
  url?: string
  port?: number
  /** This process when left out. */
  pid?: number
  /** Must be the process's own; read now when left out. */
  start_token?: string
  /** Helper processes; what is no positive safe integer is left out. */
  pids?: number[]
  scope?: string
  cwd?: string
  log?: string
  started_at?: string
  /** `null` records none; left out, whoever is calling. */
  owner?: { instance_id: string; name?: string } | null
}

export interface ServerOptions {
  /** The project; looked for when left out, none when `null`. */
  coordRoot?: string | null
  /** How long an id's mutation lease is waited for, in milliseconds (2000); only {@link custody} takes one. */
  custodyWaitMs?: number
}

export interface ListServersOptions extends ServerOptions {
  /** Look for listeners that nobody registered (true). */
  scan?: boolean
  /** Count a server with connections as used now, and write it back (true). */
  sample?: boolean
  /** Remove dead records (true). */
  prune?: boolean
  /** After how many hours without a sign of life an agent counts as abandoned (24). */
  ownerStaleHours?: number
  now?: Date
}

export interface ServerView {
  record: ServerRecord
  state: ServerState
  owner_state: OwnerState
  /** Established connections on its port; `null` where that means nothing or cannot be counted. */
  connections: number | null
  last_active_at: string
  /** Milliseconds since the last activity; 0 when that is no valid instant. */
  idle_ms: number
}

/** A listener that looks like a server of the project and has no record. */
export interface UnregisteredListener {
  pid: number
  port: number
  address: string
  /** At most 300 characters. */
  command: string
  cwd: string | null
}

export interface ServersReport {
  schema_version: 1
  coord_root: string
  scan: ScanSupport
  servers: ServerView[]
  unregistered: UnregisteredListener[]
  /** Ids of the dead records that were removed. */
  pruned: string[]
}

export interface AdoptServerOptions extends ServerOptions {
  /** `adopted` when left out. */
  type?: string
  /** `session` when left out. */
  kind?: ServerKind
  label?: string
  scope?: string
  /** Whether the caller is recorded as the one who started it (`self`). */
  owner?: 'self' | 'none'
}

export interface GcPolicy {
  /** Hours without use (2). */
  idleHours?: number
  /** The stale window that the owners' states were judged by; named in reasons. */
  ownerStaleHours?: number
}

export interface GcDecision {
  id: string
  action: 'stop' | 'keep'
  reason: string
}

/** What the harness supplies. Each function is optional; one that throws cannot say. */
export interface ServerHost {
  resolveCoordRoot?(): string | null
  callingOwner?(coordRoot: string): { instance_id: string; name?: string } | null
  /** A reader of agents' states as of `nowMs`. */
  ownerStates?(coordRoot: string, ownerStaleMs: number, nowMs: number): (instanceId: string) => OwnerState
  sharing?(): 'private' | 'group'
}

export interface StopServerOptions extends ServerOptions {
  /** Milliseconds after SIGTERM before SIGKILL (5000). */
  graceMs?: number
  signalDependencies?: ServerProcessDependencies
  /** Aborting it rejects, sends nothing more and leaves the record. */
  signal?: AbortSignal
}

export interface StopResult {
  id: string
  stopped: boolean
  method: 'not-running' | 'signal' | 'refused'
  /** Of a refusal: what the process that has the number is. */
  generation?: ProcessGenerationVerdict
  detail?: string
}
