// harnery-native at work, on real processes in a temporary project. `npm run quickstart` runs it.
//
// Each step says what it expects and looks whether it is so; the first that is not ends the run with exit code 1.
// Whatever happens, no process and no file is left behind.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  acquireNoClobberLease,
  adoptServer,
  listListeningPorts,
  listServers,
  registerServer,
  stopServer,
} from '../index.js'

const project = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'harnery-quickstart-')))
const started = []

process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
process.once('exit', cleanUp)

try {
  await servers()
  await lease()
  console.log('\nEvery step was as it says.')
} catch (error) {
  console.error(`  ✗ ${error.message}`)
  process.exitCode = 1
} finally {
  process.exit()
}

async function servers() {
  mkdirSync(path.join(project, '.harnery'))
  writeFileSync(
    path.join(project, 'server.mjs'),
    `import { createServer } from 'node:http'
     const server = createServer((_, response) => response.end('here'))
     server.listen(0, '127.0.0.1', () => console.log(server.address().port))`,
  )

  step('Two HTTP servers start: one behind a shell wrapper, one that nobody registers')
  const wrapped = await start('sh', ['-c', '"$0" server.mjs; true', process.execPath])
  const bare = await start(process.execPath, ['server.mjs'])
  const [port, barePort] = [Number(wrapped.line), Number(bare.line)]
  shows((await answer(port)) === 'here', `the wrapped one answers on port ${port}; the wrapper is process ${wrapped.pid}`)
  shows((await answer(barePort)) === 'here', `the other one answers on port ${barePort}; it is process ${bare.pid}`)

  step('The wrapper is registered, and nobody comes for a while')
  const record = registerServer(
    { kind: 'session', type: 'preview', scope: project, cwd: project, pid: wrapped.pid, port, owner: null },
    { coordRoot: project },
  )
  shows(record.pid === wrapped.pid && record.start_token, `record ${record.id}, generation ${record.start_token}`)
  await pause(200)
  const [quiet] = listServers({ coordRoot: project }).servers
  shows(quiet.state === 'running', `it is ${quiet.state}`)
  shows(quiet.connections === 0 && quiet.idle_ms >= 200, `connections: ${quiet.connections}, idle for ${quiet.idle_ms} ms`)

  step('Somebody connects')
  const visitor = connect(port, '127.0.0.1')
  await once(visitor, 'connect')
  const report = listServers({ coordRoot: project })
  const [busy] = report.servers
  shows(busy.connections === 1 && busy.idle_ms < quiet.idle_ms, `connections: ${busy.connections}, idle for ${busy.idle_ms} ms`)
  const [unregistered] = report.unregistered
  shows(
    report.unregistered.length === 1 && unregistered.pid === bare.pid && unregistered.port === barePort,
    `unregistered: process ${unregistered?.pid} on ${unregistered?.address}:${unregistered?.port} (${unregistered?.command})`,
  )
  visitor.destroy()

  step('The unregistered one is adopted')
  const adopted = adoptServer(bare.pid, { coordRoot: project, owner: 'none' })
  shows(adopted.port === barePort, `record ${adopted.id}, ${adopted.url}, "${adopted.label}"`)
  shows(listServers({ coordRoot: project }).unregistered.length === 0, 'nothing is unregistered any more')

  step('A record of another generation of that process is refused')
  const stale = { ...adopted, start_token: 'l00000000.1' }
  const refused = await stopServer(stale, { coordRoot: project })
  shows(refused.method === 'refused' && refused.generation === 'different', refused.detail)
  shows((await answer(barePort)) === 'here', `process ${bare.pid} still serves`)

  step('Both are stopped')
  for (const one of [record, adopted]) {
    const { stopped, method } = await stopServer(one, { coordRoot: project })
    shows(stopped && method === 'signal', `${one.id}: stopped by ${method}`)
  }
  const taken = listListeningPorts()
  shows(!taken.has(port) && !taken.has(barePort), `ports ${port} and ${barePort} are free`)
  shows(listServers({ coordRoot: project }).servers.length === 0, 'no record is left')
}

async function lease() {
  const staleAfterMs = 3000
  const input = { path: path.join(project, 'lease'), scope: 'quickstart', authoritySha256: '0'.repeat(64), staleAfterMs }

  step('Another process takes a lease and is killed with SIGKILL')
  const addon = fileURLToPath(new URL('../index.js', import.meta.url))
  const holder = await start(process.execPath, [
    '-e',
    `const { owner } = require(${JSON.stringify(addon)}).acquireNoClobberLease(${JSON.stringify(input)})
     console.log(owner.expires_at)
     setInterval(() => {}, 1000)`,
  ])
  shows(Date.parse(holder.line) > Date.now(), `process ${holder.pid} holds it until ${holder.line}`)
  holder.child.kill('SIGKILL')
  await once(holder.child, 'exit')

  step('Before it has expired it is refused, although the holder is dead')
  const refusal = thrown(() => acquireNoClobberLease(input))
  shows(refusal?.code === 'LEASE_HELD' && refusal.holder.pid === holder.pid, `${refusal?.code}: ${refusal?.message}`)

  step('After that it is recovered')
  await pause(Date.parse(holder.line) - Date.now() + 1)
  const lease = acquireNoClobberLease(input)
  shows(lease.recovered_owner?.pid === holder.pid, `from process ${lease.recovered_owner?.pid}; process ${lease.owner.pid} holds it now`)
  lease.release()
  const again = acquireNoClobberLease(input)
  shows(again.recovered_owner === undefined, 'released and taken again, with nothing to recover')
  again.release()
}

function step(text) {
  console.log(`\n${text}`)
}

function shows(isSo, text) {
  if (!isSo) throw new Error(`not so: ${text}`)
  console.log(`  ✓ ${text}`)
}

/** Start a program of its own session in the project; resolves when it has written its first line. */
async function start(program, args) {
  const child = spawn(program, args, { cwd: project, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([once(lines, 'line'), ends(child, program)])
  return { child, pid: child.pid, line }
}

async function ends(child, program) {
  const [code, signal] = await once(child, 'exit')
  throw new Error(`${program} ended with ${signal ?? code} before it was ready`)
}

/** What the server answers; the connection is not kept. */
async function answer(port) {
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } })
  return response.text()
}

function thrown(work) {
  try {
    work()
  } catch (error) {
    return error
  }
}

function cleanUp() {
  for (const { pid } of started) {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // Its group is gone already.
    }
  }
  rmSync(project, { recursive: true, force: true })
}
