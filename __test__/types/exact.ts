// Under exactOptionalPropertyTypes only: a member that may be missing is not one that may be `undefined`.

import type { AcquireNoClobberLeaseInput, RegisterServerInput, ServerOptions } from '../../index.js'

// @ts-expect-error left out, or a string or null
export const options: ServerOptions = { coordRoot: undefined }
// @ts-expect-error left out, or a port
export const input: RegisterServerInput = { kind: 'session', type: 'preview', port: undefined }
// @ts-expect-error left out, or a function
export const functions: Pick<AcquireNoClobberLeaseInput, 'now'> = { now: undefined }
