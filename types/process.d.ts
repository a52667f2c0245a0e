/** Whether the process that has a number now is the one that was recorded. */
export type ProcessGenerationVerdict = 'same' | 'different' | 'unknown'

/** Whether a process with a number is there now. */
export type ProcessPresence = 'present' | 'absent' | 'unknown'

/** How a machine tells when a process started. */
export type StartTokenProbe = 'procfs' | 'ps'

/** What a witness says of the process that has its number now. */
export type WitnessJudgement = 'same' | 'different' | 'gone' | 'elsewhere' | 'unknown'

/** Stand-ins for the machine when a process is signalled. */
export interface ProcessGenerationSignalDependencies {
  /** Replaces the probe; a throw means that nothing is known. */
  readToken?: (pid: number) => string | null
  /** Replaces the whole path of the signal; a throw means that it was not sent. A negative number is a group. */
  kill?: (pid: number, signal: NodeJS.Signals) => void
}

/** Stand-ins for the machine when a server is stopped. */
export interface ServerProcessDependencies extends ProcessGenerationSignalDependencies {
  /** Replaces the look whether a process is there: true is present, false is absent, a throw is unknown. */
  probePid?: (pid: number) => boolean
}

export interface ProcessInfo {
  pid: number
  ppid: number | null
  /** The argument list joined with blanks, trimmed. */
  command: string
  /** `null` when unreadable. */
  cwd: string | null
}
