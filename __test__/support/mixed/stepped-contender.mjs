// A contender that stops where it is told to: node stepped-contender.mjs '{"kind", "input", "stops"}'.
//
// It prints `at <stop>` and waits for a line on its standard input; then `held <owner id>` or `refused <code> <message>`;
// then it lets go at the line `release` and ends at any other.

import { readSync, writeSync } from 'node:fs'
import { acquirer } from './implementation.mjs'

const { kind, input, stops } = JSON.parse(process.argv[2])
let ahead = stops
let lease

const say = (text) => writeSync(1, `${text}\n`)
const reach = (point) => {
  if (ahead.length === 0 || point !== ahead[0]) return
  say(`at ${point}`)
  ahead = ahead.slice(1)
  line()
}
const acquire = acquirer(kind, reach)

attempt(() => {
  lease = acquire({
    ...input,
    onContention: () => reach('onContention'),
    onRecoveryStep: (step) => reach(step),
  })
  return `held ${lease.owner.owner_id}`
})
for (;;) {
  const command = line()
  if (command === 'release') attempt(() => (lease.release(), 'released'))
  else process.exit(0)
}

function attempt(what) {
  try {
    say(what())
  } catch (error) {
    say(`refused ${error.code ?? '-'} ${error.message}`)
  }
}

/** The next line of the standard input, waited for: nothing else runs in this process meanwhile. */
function line() {
  const byte = Buffer.alloc(1)
  let text = ''
  while (readSync(0, byte) === 1) {
    if (byte[0] === 10) return text
    text += byte
  }
  return text
}
