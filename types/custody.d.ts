/** A tunnel as its own state file has it; further members are ignored. */
export interface TunnelState {
  name: string
  provider: string
  url: string
  gate_pid: number
  gate_start_token?: string
  gate_port: number
  registration_id?: string
  started_at: string
  target: string
  vhost?: string | null
}

/** Answers about a tunnel from what its original registration witnessed. */
export interface TunnelReadinessVerifier {
  /** Whether a process is the one that was recorded: `absent` when there is none, `unknown` also when it may not be signalled. */
  observeProcess(pid: number, originalToken: string | null | undefined): 'absent' | ProcessGenerationVerdict
  /**
   * What `inspect` returns, run while the registration that `state` agrees with is held; `unknown` when there is none,
   * and for whatever fails before a promise is returned.
   */
  withRegistration<T>(state: TunnelState, inspect: () => T): T | 'unknown'
}

/** What became of the records that were not yet of the schema. */
export interface ServerMigration {
  /** Ids of the records that were rewritten. */
  migrated: string[]
  /** Records that were left as they were, each with the reason. */
  kept: { id: string; reason: string }[]
}

/** The custody contract of harness 0.45.0: registrations with receipts, changed under a mutation lease. */
export declare namespace custody {
  /** The schema version of the records that the custody contract reads and writes. */
  export const SERVER_RECORD_SCHEMA_VERSION: 2
  /** A server's record with the receipt of its registration. */
  export interface ServerRecord extends Omit<CurrentServerRecord, 'schema_version' | 'registration_id'> {
    schema_version: typeof SERVER_RECORD_SCHEMA_VERSION
    /** 36 characters of `0-9`, `a-f` and `-`. */
    registration_id: string
  }
  export interface ServerView extends Omit<CurrentServerView, 'record'> {
    record: ServerRecord
  }
  export interface ServersReport extends Omit<CurrentServersReport, 'servers'> {
    servers: ServerView[]
  }
  /** Whether a record's server runs here, as far as can be told from here. */
  export function serverState(record: ServerRecord): ServerState
  /** The listeners inside a project that none of these servers accounts for. */
  export function findUnregisteredListeners(coordRoot: string, servers: ServerView[]): UnregisteredListener[]
  /** Which of these servers may be stopped, with a reason for each. */
  export function planServerGc(views: ServerView[], policy?: GcPolicy): GcDecision[]
  export {
    acquireNoClobberLease,
    AdoptServerOptions,
    ancestry,
    configureHost,
    ensureServersDir,
    establishedConnectionCounts,
    GcDecision,
    GcPolicy,
    isValidServerId,
    Listener,
    ListeningSocket,
    listListeners,
    listListeningPorts,
    listListeningSockets,
    ListServersOptions,
    OwnerState,
    parseLsofListen,
    parseProcNetTcp,
    ProcessGenerationSignalDependencies,
    ProcessGenerationVerdict,
    ProcessInfo,
    processStartToken,
    ProcNetTcpRow,
    readProcessInfo,
    RegisterServerInput,
    ScanSupport,
    scanSupport,
    SERVER_DEFAULT_IDLE_HOURS,
    SERVER_DEFAULT_OWNER_STALE_HOURS,
    serverGcConfig,
    ServerHost,
    serverId,
    ServerKind,
    ServerOptions,
    serverPortRange,
    ServerProcessDependencies,
    serversDir,
    ServerState,
    signalIfSameGeneration,
    StopResult,
    StopServerOptions,
    TunnelReadinessVerifier,
    tunnelServerId,
    TunnelState,
    UnregisteredListener,
    verifyProcessGeneration,
  }
}
/** {@link ServerRecord} of the current contract, whose name the namespace has for its own. */
type CurrentServerRecord = ServerRecord
type CurrentServerView = ServerView
type CurrentServersReport = ServersReport
