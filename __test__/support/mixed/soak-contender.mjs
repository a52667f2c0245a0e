// One process of a group that contends for a lease: node soak-contender.mjs '{"name", "kind", "input", "log", "stop", "until", "end"}'.
//
// What it says of itself goes to a log that all share, each line appended by one write: `enter` once it holds the lease,
// `leave` before it lets go. It goes on until there is a file `stop`, or until a time. `end` says where it ends by itself with
// SIGKILL: `{ at, after }`, the n-th time that it comes there.

import { existsSync, openSync, writeSync } from 'node:fs'
import { acquirer, CONTENTION, pause, stretchCall, stretchStep } from './implementation.mjs'

const { name, kind, input, log, stop, until, end } = JSON.parse(process.argv[2])
const fd = openSync(log, 'a')
const say = (what, text = '') => writeSync(fd, `${process.hrtime.bigint()} ${name} ${process.pid} ${what} ${text}\n`)

let passed = 0

const acquire = acquirer(kind, () => {
  reach('call')
  stretchCall()
})

while (!existsSync(stop) && Date.now() < until) {
  let lease
  try {
    lease = acquire({
      ...input,
      onLeaseDirectoryCreate: () => reach('onLeaseDirectoryCreate'),
      onContention: () => reach('onContention'),
      onRecoveryStep: (step) => reach(step),
    })
  } catch (error) {
    refused(error)
    pause(Math.random() * 3)
    continue
  }
  say('enter', lease.recovered_owner ? 'recovered' : '')
  reach('holding')
  // A holder that lives keeps its lease beyond its time.
  pause(Math.random() < 0.1 ? 2 * input.staleAfterMs : Math.random() * 2)
  say('leave')
  try {
    lease.release()
  } catch (error) {
    say('lost', message(error))
  }
  if (Math.random() < 0.5) pause(Math.random() * 2)
}
say('done')

function refused(error) {
  if (CONTENTION.test(error.message)) return
  say('fault', message(error))
  // A harness whose call failed half-way lives on and blocks the others until it ends: that is shown elsewhere.
  if (kind === 'javascript' && !/pin is corrupt/.test(error.message)) process.exit(0)
}

function reach(point) {
  if (point !== 'call') stretchStep()
  if (end.at !== point || ++passed < end.after) return
  say('killed', point)
  process.kill(process.pid, 'SIGKILL')
}

/** Without the paths: what stays is the same for the same fault. */
function message(error) {
  return error.message.replace(/[^ ']*\/([^/ ']+)/g, '$1').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '*')
}
