// node examples/resume.mjs: a process dies while it resumes a run; its lock is previewed, recovered with an audit trail,
// and taken again. Ends with 1 if any step is not so.

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { acquireWorkflowResumeLease, listWorkflowRecoveries, recoverWorkflowResumeLease } from '../index.js'

const RUN = 'nightly-42'
const [, , role, root = mkdtempSync(path.join(tmpdir(), 'resume-example-'))] = process.argv

if (role === undefined) await show()
else resume()

/** The process that dies: it takes the lock and never gives it back. */
function resume() {
  acquireWorkflowResumeLease(root, RUN)
  process.send('resumed')
  setInterval(() => {}, 60_000)
}

async function show() {
  const holder = fork(fileURLToPath(import.meta.url), ['holder', root])
  try {
    await once(holder, 'message')
    refused(() => acquireWorkflowResumeLease(root, RUN))

    const living = recoverWorkflowResumeLease(root, RUN, {})
    console.log(`preview: the owner is ${living.owner_state}, process ${living.owner.pid}`)
    assert.equal(living.owner_state, 'live')
    const word = { actor: 'example', reason: 'its process was killed' }
    refused(() => recoverWorkflowResumeLease(root, RUN, { yes: true, lockSha256: living.lock_sha256, ...word }))

    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const dead = recoverWorkflowResumeLease(root, RUN, {})
    console.log(`preview: the owner is ${dead.owner_state}; the lock is ${dead.lock_sha256.slice(0, 12)}…`)
    assert.equal(dead.owner_state, 'dead')
    refused(() => recoverWorkflowResumeLease(root, RUN, { yes: true, lockSha256: '0'.repeat(64), ...word }))

    const unlocked = recoverWorkflowResumeLease(root, RUN, { yes: true, lockSha256: dead.lock_sha256, ...word })
    assert.equal(unlocked.action, 'unlocked')
    const [recorded] = listWorkflowRecoveries(root, RUN)
    const { intent, completion } = recorded
    console.log(`on record: ${intent.created_at} ${intent.actor} ${intent.action}, because ${intent.reason}`)
    console.log(`           ${completion.completed_at} done`)
    assert.equal(intent.operation_id, unlocked.recovery_id)
    assert.equal(intent.target_sha256, dead.lock_sha256)

    const release = acquireWorkflowResumeLease(root, RUN)
    console.log('the run can be resumed again')
    release()
    assert.equal(recoverWorkflowResumeLease(root, RUN, {}).owner_state, 'absent')
  } finally {
    holder.kill('SIGKILL')
    rmSync(root, { recursive: true, force: true })
  }
}

function refused(work) {
  assert.throws(work, (error) => {
    console.log(`refused: ${error.message}`)
    return /^WORKFLOW_(HELD|REFUSED)$/.test(error.code)
  })
}
