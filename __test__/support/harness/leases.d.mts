import type { AcquireNoClobberLeaseInput, NoClobberLease } from '../../../index.js'

type Files = Record<string, (...args: never[]) => unknown>

export function acquireNoClobberLease(
  input: Omit<AcquireNoClobberLeaseInput, 'durability'>,
  files?: Files,
): NoClobberLease
