// One process that contends for one lease after the other, when it is told to: forked with its kind as argument.
//
// `{ input, at }`: acquire at that moment, and answer `{ held, text }`. `'release'`: let go, and answer the same.

import { acquirer, stretchCall, stretchStep } from './implementation.mjs'

const acquire = acquirer(process.argv[2], stretchCall)
let lease

process.on('message', (job) => {
  if (job === 'release') return attempt(() => lease?.release())
  lease = undefined
  // All begin at once: whoever is early turns round and round until then.
  while (process.hrtime.bigint() < BigInt(job.at));
  attempt(() => {
    lease = acquire({ ...job.input, onContention: stretchStep, onRecoveryStep: stretchStep })
  })
})
process.send('ready')

function attempt(what) {
  let text = ''
  try {
    what()
  } catch (error) {
    text = error.message
  }
  process.send({ held: lease !== undefined, text })
}
