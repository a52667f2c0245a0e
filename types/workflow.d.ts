/** Who recovers something, and why. */
export interface WorkflowRecoveryAuthorization {
  /** 1 to 200 characters. */
  actor: string
  /** 1 to 2,000 characters. */
  reason: string
}

export interface WorkflowResumeRecoveryOptions extends Partial<WorkflowRecoveryAuthorization> {
  /** Remove the lock. Without it the call only looks. */
  yes?: boolean
  /** The digest of a look at the lock. */
  lockSha256?: string
}

/** A run's lock as it was found, or as it was before it was removed. */
export interface WorkflowResumeRecoveryResult {
  action: 'preview' | 'unlocked'
  run_id: string
  /** Digest of its bytes, device and inode; `null` when there is no lock. */
  lock_sha256: string | null
  /** `live` and `dead` are known of a readable owner on this host only. */
  owner_state: 'dead' | 'live' | 'unknown' | 'absent'
  owner: { pid: number; host: string; created_at: string } | null
  /** The `operation_id` of the audit record. */
  recovery_id?: string
}

/** What is to be done to a run, by whom and why. */
export interface WorkflowRecoveryInput extends WorkflowRecoveryAuthorization {
  run_id: string
  action: string
  /** SHA-256 of what it is done to, in lower-case hexadecimal. */
  target_sha256: string
  /** Whatever describes it; JSON. */
  target: unknown
}

/** What was put on record before it was done. */
export interface WorkflowRecoveryIntent extends WorkflowRecoveryInput {
  schema_version: 1
  operation_id: string
  created_at: string
  pid: number
  host: string
}

/** That it was done. */
export interface WorkflowRecoveryCompletion {
  schema_version: 1
  operation_id: string
  /** SHA-256 of the intent's file. */
  intent_sha256: string
  completed_at: string
}

/** A recovery that was begun. */
export interface WorkflowRecovery {
  intent: WorkflowRecoveryIntent
  /** Throws when the intent on disk is not what was written any more. */
  assertCurrent(): void
  /** Record that it was done. Again is fine. */
  complete(): void
}

/** A recovery as it is on disk; without a completion it was begun, and nothing says that it was done. */
export interface WorkflowRecoveryRecord {
  intent: WorkflowRecoveryIntent
  completion: WorkflowRecoveryCompletion | null
}

/** What a work tree was like. */
export interface WorkflowRepoSnapshot {
  cwd: string
  observation: 'ok' | 'unavailable' | 'partial'
  /** Why it is unavailable or partial, in at most 500 characters. */
  observation_detail?: string
  root?: string
  /** `HEAD` when it is detached. */
  branch?: string
  head?: string
  dirty_paths: string[]
  dirty_paths_truncated?: boolean
}

/** What two snapshots establish. */
export interface WorkflowRepoEvidence {
  source: 'engine'
  before: WorkflowRepoSnapshot
  after: WorkflowRepoSnapshot
  drift: {
    /** `null`: the snapshots do not establish this comparison. */
    branch_changed: boolean | null
    head_changed: boolean | null
    dirty_paths_added: string[] | null
    dirty_paths_cleared: string[] | null
    dirty_paths_retained: string[] | null
    /** When an observation, a comparison, or the change of a retained path is unknown. */
    incomplete: boolean
    note?: string
  }
}
