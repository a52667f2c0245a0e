// Generated from compat/layout.json; do not edit.

export { acquireNoClobberLease } from '../../../../index.js'
export type { AcquireNoClobberLeaseInput, LeaseRecoveryStep, NoClobberLease, NoClobberLeaseOwner } from '../../../../index.js'
