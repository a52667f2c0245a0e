/** Where a supervisor keeps its files. */
export interface SupervisorPaths {
  root: string
  /** What it says of itself, with its heartbeat. */
  service: string
  lease: string
  /** A request to stop. */
  stop: string
  snapshot: string
}

/** What a supervisor says of itself; whatever else its writer gave it is there too. */
export interface SupervisorServiceStatusRecord {
  schema_version: 1
  pid: number
  start_token?: string
  host: string
  nonce: string
  state: 'starting' | 'running' | 'stopping' | 'stopped' | 'error'
  started_at: string
  heartbeat_at: string
  interval_ms: number
  keep_alive: boolean
  idle_exit_ms: number
  cycle_count: number
  last_cycle_at?: string
  last_cycle_duration_ms?: number
  idle_since?: string
  last_error_code?: string
  stopped_at?: string
}

export interface SupervisorStatus {
  running: boolean
  /** Its heartbeat is older than 15 seconds, or no instant. */
  stale: boolean
  /** Left out when there is no valid one. */
  record?: SupervisorServiceStatusRecord
  status_path: string
  snapshot_path: string
}

/** The status after the request, and what became of it. */
export interface SupervisorStopResult extends SupervisorStatus {
  stop: {
    requested_at: string
    /** `null`: there was nobody to signal. */
    signal: { sent: boolean; verdict: ProcessGenerationVerdict } | null
  }
}

/** The caller's functions in the machine's place. */
export interface SupervisorProcessDependencies {
  /** Whether the process is there; a throw: unknown. */
  probePid?: (pid: number) => boolean
  readToken?: (pid: number) => string | null
}
