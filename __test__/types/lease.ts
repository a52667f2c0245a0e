import type {
  AcquireNoClobberLeaseInput,
  LeaseRecoveryStep,
  NoClobberLease,
  NoClobberLeaseInspection,
  NoClobberLeaseOwner,
} from '../../index.js'
import {
  acquireNoClobberLease,
  acquireNoClobberLeaseAsync,
  holdsNoClobberLease,
  inspectNoClobberLease,
  repairNoClobberLease,
} from '../../index.js'
import { same, type Shape } from './same.js'

same<
  LeaseRecoveryStep,
  'claim_created' | 'stale_pinned' | 'current_removed' | 'new_current_linked' | 'recovery_retired'
>(true)
same<
  NoClobberLeaseOwner,
  {
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
>(true)
same<
  NoClobberLease,
  { owner: NoClobberLeaseOwner; recovered_owner?: NoClobberLeaseOwner; release(): void }
>(true)
same<
  AcquireNoClobberLeaseInput,
  {
    path: string
    scope: string
    authoritySha256: string
    metadata?: Readonly<Record<string, string>>
    staleAfterMs: number
    validateStaleOwner?: (owner: NoClobberLeaseOwner) => boolean
    now?: () => number
    pid?: number
    host?: string
    probePid?: (pid: number) => void
    onLeaseDirectoryCreate?: () => void
    onContention?: () => void
    onRecoveryStep?: (step: LeaseRecoveryStep) => void
    durability?: 'power' | 'process'
  }
>(true)
same<Shape<typeof acquireNoClobberLease>, [input: AcquireNoClobberLeaseInput, gives: NoClobberLease]>(true)
same<Shape<typeof holdsNoClobberLease>, [lease: NoClobberLease, gives: boolean]>(true)
same<ReturnType<typeof acquireNoClobberLeaseAsync>, Promise<NoClobberLease>>(true)
same<NoClobberLeaseInspection['state'], 'free' | 'held' | 'stale' | 'recovering' | 'corrupt'>(true)
same<ReturnType<typeof inspectNoClobberLease>, NoClobberLeaseInspection>(true)
same<ReturnType<typeof repairNoClobberLease>, { moved_to: string; moved: string[] }>(true)

const input: AcquireNoClobberLeaseInput = {
  path: '/x.lease',
  scope: 's',
  authoritySha256: 'a'.repeat(64),
  staleAfterMs: 1000,
}
acquireNoClobberLeaseAsync({ ...input, waitMs: 5, signal: new AbortController().signal })
repairNoClobberLease('/x.lease', { digest: '', actor: '', reason: '', confirm: 'elsewhere' })
// @ts-expect-error a duration is a number
acquireNoClobberLease({ ...input, staleAfterMs: '1' })
// @ts-expect-error there are two durabilities
acquireNoClobberLease({ ...input, durability: 'none' })
// @ts-expect-error somebody must say why
repairNoClobberLease('/x.lease', { digest: '', actor: '' })
