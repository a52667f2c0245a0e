// The harness's own types, as its sources declare them, and those of index.d.ts are the same.

import type * as native from '../../index.js'
import {
  acquireWorkflowResumeLease,
  beginWorkflowRecovery,
  compareRepoSnapshots,
  isRepoSnapshot,
  recoverWorkflowResumeLease,
  requestSupervisorStop,
  supervisorPaths,
  workflowRunManifestPath,
} from '../../index.js'
import { same, type Shape } from './same.js'

declare namespace harness {
  interface WorkflowResumeRecoveryOptions extends Partial<{ actor: string; reason: string }> {
    yes?: boolean
    lockSha256?: string
  }
  interface WorkflowResumeRecoveryResult {
    action: 'preview' | 'unlocked'
    run_id: string
    lock_sha256: string | null
    owner_state: 'dead' | 'live' | 'unknown' | 'absent'
    owner: { pid: number; host: string; created_at: string } | null
    recovery_id?: string
  }
  interface WorkflowRepoSnapshot {
    cwd: string
    observation: 'ok' | 'unavailable' | 'partial'
    observation_detail?: string
    root?: string
    branch?: string
    head?: string
    dirty_paths: string[]
    dirty_paths_truncated?: boolean
  }
  interface WorkflowRepoEvidence {
    source: 'engine'
    before: WorkflowRepoSnapshot
    after: WorkflowRepoSnapshot
    drift: {
      branch_changed: boolean | null
      head_changed: boolean | null
      dirty_paths_added: string[] | null
      dirty_paths_cleared: string[] | null
      dirty_paths_retained: string[] | null
      incomplete: boolean
      note?: string
    }
  }
  interface SupervisorStatus {
    running: boolean
    stale: boolean
    record?: native.SupervisorServiceStatusRecord
    status_path: string
    snapshot_path: string
  }
}

same<native.WorkflowResumeRecoveryOptions, harness.WorkflowResumeRecoveryOptions>(true)
same<native.WorkflowResumeRecoveryResult, harness.WorkflowResumeRecoveryResult>(true)
same<native.WorkflowRecoveryAuthorization, { actor: string; reason: string }>(true)
same<native.WorkflowRepoSnapshot, harness.WorkflowRepoSnapshot>(true)
same<native.WorkflowRepoEvidence, harness.WorkflowRepoEvidence>(true)
same<native.SupervisorStatus, harness.SupervisorStatus>(true)
same<Shape<typeof acquireWorkflowResumeLease>, [coordRoot: string, runId: string, gives: () => void]>(true)
same<Shape<typeof workflowRunManifestPath>, [coordRoot: string, runId: string, gives: string]>(true)
same<Shape<typeof recoverWorkflowResumeLease>, [coordRoot: string, runId: string, options: harness.WorkflowResumeRecoveryOptions, gives: harness.WorkflowResumeRecoveryResult]>(true)
same<ReturnType<typeof supervisorPaths>, native.SupervisorPaths>(true)
same<ReturnType<typeof requestSupervisorStop>['stop']['signal'], { sent: boolean; verdict: native.ProcessGenerationVerdict } | null>(true)

const value: unknown = {}
if (isRepoSnapshot(value)) compareRepoSnapshots(value, value)
requestSupervisorStop('/p', { probePid: () => true, readToken: () => null, kill: (pid: number, signal: NodeJS.Signals) => void [pid, signal] })
// @ts-expect-error somebody must say why
beginWorkflowRecovery('/p', { run_id: 'r', action: 'a', target_sha256: '', target: null, actor: 'me' })
// @ts-expect-error a flag is a boolean
recoverWorkflowResumeLease('/p', 'r', { yes: 1 })
