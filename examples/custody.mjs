// Two processes want one server id under custody: node examples/custody.mjs
//
// The first registers; the second is refused while the first lives, and takes the id over once it was killed. The receipt
// of the first can then neither remove nor stop the second.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { custody } from '../index.js'

const self = fileURLToPath(import.meta.url)

if (process.argv[2] === 'server') await serve(process.argv[3])
else await show()

/** A server that registers itself and tells what came of it, as often as it is asked to. */
async function serve(coordRoot) {
  process.on('message', () => {
    try {
      const input = { id: 'preview', kind: 'session', type: 'preview', label: `Preview of ${process.pid}`, owner: null }
      process.send({ receipt: custody.registerServer(input, { coordRoot }) })
    } catch (error) {
      process.send({ refused: error.message })
    }
  })
  process.send('ready')
}

async function show() {
  const coordRoot = mkdtempSync(path.join(os.tmpdir(), 'custody-'))
  const servers = []
  try {
    const [first, second] = [await start(coordRoot, servers), await start(coordRoot, servers)]

    const { receipt: stale } = await ask(first)
    say(`process ${first.pid} has registered "preview", receipt ${stale.registration_id}`)

    const { refused } = await ask(second)
    check(refused !== undefined, `process ${second.pid} is refused while the first lives: ${refused}`)

    first.kill('SIGKILL')
    await once(first, 'exit')
    const { receipt } = await ask(second)
    check(receipt?.pid === second.pid, `once the first was killed, process ${second.pid} takes the id over, receipt ${receipt?.registration_id}`)

    check(custody.unregisterServer(stale, { coordRoot }) === false, 'the stale receipt removes nothing')
    const stop = await custody.stopServer(stale, { coordRoot })
    check(stop.method === 'refused', `the stale receipt stops nobody: ${stop.detail}`)
    check(custody.readServer('preview', { coordRoot })?.registration_id === receipt.registration_id, 'the newcomer is registered')
    check(custody.serverState(receipt) === 'running', 'the newcomer runs')

    const exit = once(second, 'exit')
    const result = await custody.stopServer(receipt, { coordRoot })
    await exit
    check(result.stopped && custody.readServer('preview', { coordRoot }) === null, 'its own receipt stops it and removes its record')
  } finally {
    for (const server of servers) server.kill('SIGKILL')
    rmSync(coordRoot, { recursive: true, force: true })
  }
}

async function start(coordRoot, servers) {
  const server = spawn(process.execPath, [self, 'server', coordRoot], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  servers.push(server)
  await once(server, 'message')
  return server
}

async function ask(server) {
  server.send('register')
  const [answer] = await once(server, 'message')
  return answer
}

function say(text) {
  console.log(`· ${text}`)
}

function check(holds, text) {
  console.log(`${holds ? '✓' : '✗'} ${text}`)
  if (!holds) process.exitCode = 1
}
