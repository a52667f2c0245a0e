/** The boundaries of a recovery, in order. */
export type LeaseRecoveryStep =
  | 'claim_created'
  | 'stale_pinned'
  | 'current_removed'
  | 'new_current_linked'
  | 'recovery_retired'

/** How a lease names its holder. On disk this addon adds one further field, `witness`. */
export interface NoClobberLeaseOwner {
  schema_version: 1
  owner_id: string
  owner_file: string
  scope: string
  authority_sha256: string
  metadata?: Record<string, string>
  pid: number
  host: string
  created_at: string
  expires_at: string
}

/** A lease that is held. A plain object: spreading it or taking it apart keeps `release` working. */
export interface NoClobberLease {
  owner: NoClobberLeaseOwner
  /** The dead holder that was replaced. */
  recovered_owner?: NoClobberLeaseOwner
  /**
   * Let the lease go; again is fine. Throws with `code` `LEASE_LOST` when it is someone else's by now (nothing of theirs is
   * touched). At run time `Symbol.dispose` does the same, where the runtime has it.
   */
  release(): void
}

export interface AcquireNoClobberLeaseInput {
  /** The lease's directory; its last part is a safe component (`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`). */
  path: string
  /** A safe component. A stale holder of another scope is not replaced. */
  scope: string
  /** 64 lower-case hexadecimal digits; recorded, never compared. */
  authoritySha256: string
  /** At most 20 keys, each a safe component, with values of at most 1,000 characters. */
  metadata?: Readonly<Record<string, string>>
  /** Milliseconds after which a holder whose process is dead may be replaced. */
  staleAfterMs: number
  /** Whether a stale holder may be replaced; a falsy answer refuses, a promise is a `TypeError`. */
  validateStaleOwner?: (owner: NoClobberLeaseOwner) => boolean
  /** Milliseconds since the epoch. */
  now?: () => number
  /** A stand-in for this process. */
  pid?: number
  /** A stand-in for this host's name. */
  host?: string
  /** Returns when the process is there; else throws an error with `code` `"ESRCH"`, `"EPERM"`, … */
  probePid?: (pid: number) => void
  /** Fault-injection hook, just before the lease directory is created. */
  onLeaseDirectoryCreate?: () => void
  /** Fault-injection hook, after contention is observed and before the holder is read. */
  onContention?: () => void
  /** Fault-injection hook at the boundaries of a recovery. A throw simulates a crash. */
  onRecoveryStep?: (step: LeaseRecoveryStep) => void
  /** What survives a power cut: the lease's state (`"power"`, the default), or the owner's file only. A kill is always safe. */
  durability?: 'power' | 'process'
}

/** Why a holder counts as live. */
export type NoClobberLeaseReason =
  | 'unexpired'
  | 'alive'
  | 'other-host'
  | 'other-namespace'
  | 'unreadable-liveness'
  | 'clock'
  | 'different-stale-after'

/** Who replaces whom, as it is on disk. */
export interface NoClobberLeaseClaim {
  schema_version: 1
  claimant: NoClobberLeaseOwner
  observed_owner: NoClobberLeaseOwner
  observed_sha256: string
  created_at: string
}

export interface NoClobberLeaseInspection {
  state: 'free' | 'held' | 'stale' | 'recovering' | 'corrupt'
  /** Whom `current` names. */
  owner?: NoClobberLeaseOwner
  /** Of the owner, or of the claimant where nobody is `current`. */
  liveness?: NoClobberLeaseReason | 'dead'
  claim?: NoClobberLeaseClaim
  /** How many entries dead contenders have left. */
  leftovers: number
  /** Of the names, devices, inodes, sizes and contents of everything in the directory. */
  digest: string
}
