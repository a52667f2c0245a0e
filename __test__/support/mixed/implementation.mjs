// Either implementation of the lease, by name.

import { createRequire } from 'node:module'
import { acquireNoClobberLease as inJavaScript } from '../harness/leases.mjs'
import { filesWith } from '../harness/stepped.mjs'

const require = createRequire(import.meta.url)

/** What both answer when another is there, or is about to be. */
export const CONTENTION =
  /^lease workspace (is held by a live|recovery is already in progress|recovery raced|changed repeatedly during contention)/

/** How to acquire: `before` is told each file call, which only the JavaScript implementation can say. */
export function acquirer(kind, before) {
  if (kind === 'javascript') return (input) => inJavaScript(input, filesWith(before))
  return require('../../../index.js').acquireNoClobberLease
}

/** Now and then, make a moment long in which others can come between. There are dozens of file calls, and few steps. */
export const stretchCall = () => stretch(0.05)
export const stretchStep = () => stretch(0.3)

function stretch(share) {
  if (Math.random() < share) pause(Math.random() * 2)
}

/** Do nothing for a while, and let nothing else run in this process. */
export function pause(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
