import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import {
  acquireWorkflowResumeLease,
  beginWorkflowRecovery,
  compareRepoSnapshots,
  configureHost,
  isRepoSnapshot,
  listWorkflowRecoveries,
  normalizeRepoSnapshot,
  observeRepository,
  recoverWorkflowResumeLease,
  stableDigest,
  workflowRunManifestPath,
} from '../index.js'
import type { WorkflowRepoSnapshot } from '../index.js'
import { scratch } from './support/scratch.js'

afterEach(() => {
  configureHost(null)
})

const runDir = (root: string) => path.join(root, '.harnery', 'workflows', 'run-1')
const lockFile = (root: string) => path.join(runDir(root), 'resume.lock')
const deadPid = 4_194_305

/** A project whose run has a lock of this owner. */
function locked(more: object = {}, root = scratch()): string {
  mkdirSync(runDir(root), { recursive: true })
  const owner = { owner_id: 'a', pid: deadPid, host: os.hostname(), created_at: '2026-01-01T00:00:00.000Z', ...more }
  writeFileSync(lockFile(root), `${JSON.stringify(owner)}\n`)
  return root
}

/** The digest as the harness computes it. */
function digestOf(file: string): string {
  const { dev, ino } = lstatSync(file)
  return createHash('sha256').update(JSON.stringify({ bytes: readFileSync(file, 'utf8'), device: dev, inode: ino })).digest('hex')
}

const word = { actor: 'op', reason: 'its host is gone' }

describe('a resume lock', () => {
  it('of a worker that ends is given back, and of a process that ends is left for recovery', async () => {
    const root = scratch()
    const addon = JSON.stringify(path.resolve('index.js'))
    const script = `require(${addon}).acquireWorkflowResumeLease(${JSON.stringify(root)}, 'run-1'); process.exit()`
    const worker = new Worker(script, { eval: true })
    await new Promise((resolve) => worker.once('exit', resolve))
    expect(readdirSync(runDir(root))).not.toContain('resume.lock')
    spawnSync(process.execPath, ['-e', script])
    expect(recoverWorkflowResumeLease(root, 'run-1', {}).owner_state).toBe('dead')
  })

  it('h4 gives one holder, and the other names it', () => {
    const root = scratch()
    const release = acquireWorkflowResumeLease(root, 'run-1')
    const owner = JSON.parse(readFileSync(lockFile(root), 'utf8'))
    expect(Object.keys(owner)).toEqual(['owner_id', 'pid', 'host', 'created_at'])
    expect(owner).toMatchObject({ pid: process.pid, host: os.hostname() })
    expect(() => acquireWorkflowResumeLease(root, 'run-1')).toThrow(expect.objectContaining({
      code: 'WORKFLOW_HELD',
      message: `workflow run run-1 resume lease is already held by pid ${process.pid} on ${os.hostname()}; its liveness has not been verified`,
    }))
    expect(release()).toBeUndefined()
    expect(existsSync(lockFile(root))).toBe(false)
    release()
    acquireWorkflowResumeLease(root, 'run-1')()
  })

  it('refuses whatever holds it and however old it is', () => {
    const root = locked({ host: 'elsewhere', created_at: '2000-01-01T00:00:00.000Z' })
    expect(() => acquireWorkflowResumeLease(root, 'run-1')).toThrow(`already held by pid ${deadPid} on elsewhere`)
    writeFileSync(lockFile(root), '{"pid"')
    expect(() => acquireWorkflowResumeLease(root, 'run-1')).toThrow('resume lease is already held; its owner could not be verified')
    expect(readFileSync(lockFile(root), 'utf8')).toBe('{"pid"')
  })

  it('is not released once it was replaced', () => {
    const root = scratch()
    const release = acquireWorkflowResumeLease(root, 'run-1')
    const bytes = readFileSync(lockFile(root))
    rmSync(lockFile(root))
    writeFileSync(lockFile(root), bytes)
    release()
    expect(readFileSync(lockFile(root))).toEqual(bytes)
  })

  it('s1 that is a symbolic link is refused', () => {
    const root = scratch()
    const outside = scratch()
    mkdirSync(runDir(root), { recursive: true })
    symlinkSync(path.join(outside, 'x'), lockFile(root))
    expect(() => acquireWorkflowResumeLease(root, 'run-1')).toThrow('resume lock is not a bounded regular file')
    expect(() => recoverWorkflowResumeLease(root, 'run-1', {})).toThrow(expect.objectContaining({ code: 'WORKFLOW_CORRUPT' }))
    expect(readdirSync(outside)).toEqual([])
  })

  it('has the modes that the host says', () => {
    configureHost({ sharing: () => 'group' })
    const root = scratch()
    const release = acquireWorkflowResumeLease(root, 'run-1')
    expect(lstatSync(lockFile(root)).mode & 0o7777).toBe(0o660)
    expect(lstatSync(runDir(root)).mode & 0o7777).toBe(0o770)
    release()
  })

  it.each(['', '..', 'a/b', 'a\n', 'x'.repeat(201)])('of the run %j is refused before any path is built', (run) => {
    const root = scratch()
    const refused = expect.objectContaining({ code: 'WORKFLOW_INPUT', message: `invalid workflow run id ${JSON.stringify(run)}` })
    expect(() => acquireWorkflowResumeLease(root, run)).toThrow(refused)
    expect(() => recoverWorkflowResumeLease(root, run, {})).toThrow(refused)
    expect(() => listWorkflowRecoveries(root, run)).toThrow(refused)
    expect(() => workflowRunManifestPath(root, run)).toThrow(refused)
    expect(readdirSync(root)).toEqual([])
  })
})

describe('a recovery of a resume lock', () => {
  it('previews what is there, with the digest that Node computes, and changes nothing', () => {
    const root = scratch()
    expect(recoverWorkflowResumeLease(root, 'run-1', {})).toStrictEqual({
      action: 'preview', run_id: 'run-1', lock_sha256: null, owner_state: 'absent', owner: null,
    })
    expect(readdirSync(root)).toEqual([])
    locked({}, root)
    const found = recoverWorkflowResumeLease(root, 'run-1', { yes: false })
    expect(found).toStrictEqual({
      action: 'preview',
      run_id: 'run-1',
      lock_sha256: digestOf(lockFile(root)),
      owner_state: 'dead',
      owner: { pid: deadPid, host: os.hostname(), created_at: '2026-01-01T00:00:00.000Z' },
    })
    const { dev, ino } = lstatSync(lockFile(root))
    expect(found.lock_sha256).toBe(stableDigest({ bytes: readFileSync(lockFile(root), 'utf8'), device: dev, inode: ino }))
    expect(readdirSync(runDir(root))).toEqual(['resume.lock'])
  })

  it('computes the digest of a real inode above 2^53 as Node does', () => {
    const [lower, upper] = [scratch(), scratch(os.tmpdir())]
    locked({}, lower)
    for (const name of ['up', 'work', 'merged']) mkdirSync(path.join(upper, name))
    const at = (name: string) => path.join(upper, name)
    // An overlay of two file systems numbers what comes from the lower one with its high bits set.
    const options = `xino=on,lowerdir=${lower},upperdir=${at('up')},workdir=${at('work')}`
    const mounted = spawnSync('mount', ['-t', 'overlay', 'overlay', '-o', options, at('merged')])
    if (mounted.status !== 0) {
      console.log(`not run: this machine does not let us mount an overlay (${mounted.stderr})`)
      return
    }
    try {
      const file = lockFile(at('merged'))
      const { ino } = lstatSync(file)
      if (ino <= Number.MAX_SAFE_INTEGER) console.log(`the overlay's inode is small: ${ino}`)
      expect(recoverWorkflowResumeLease(at('merged'), 'run-1', {}).lock_sha256).toBe(digestOf(file))
    } finally {
      execFileSync('umount', [at('merged')])
    }
  })

  it('h5 unlocks a dead owner’s lock once that is on record', () => {
    const root = locked()
    const lockSha256 = recoverWorkflowResumeLease(root, 'run-1', {}).lock_sha256 as string
    const unlocked = recoverWorkflowResumeLease(root, 'run-1', { yes: true, lockSha256, ...word })
    expect(unlocked).toMatchObject({ action: 'unlocked', run_id: 'run-1', lock_sha256: lockSha256, owner_state: 'dead' })
    expect(existsSync(lockFile(root))).toBe(false)
    const [recorded, ...more] = listWorkflowRecoveries(root, 'run-1')
    expect(more).toEqual([])
    expect(recorded?.intent).toMatchObject({
      schema_version: 1,
      operation_id: unlocked.recovery_id,
      run_id: 'run-1',
      action: 'unlock_resume',
      target_sha256: lockSha256,
      target: { lock: 'resume.lock', owner: unlocked.owner },
      actor: 'op',
      reason: 'its host is gone',
      pid: process.pid,
      host: os.hostname(),
    })
    const intent = path.join(runDir(root), 'recovery', unlocked.recovery_id as string, 'intent.json')
    expect(recorded?.completion).toStrictEqual({
      schema_version: 1,
      operation_id: unlocked.recovery_id,
      intent_sha256: createHash('sha256').update(readFileSync(intent)).digest('hex'),
      completed_at: expect.stringMatching(/^\d{4}-.*Z$/),
    })
    acquireWorkflowResumeLease(root, 'run-1')()
  })

  it('h5 refuses live, unknown and absent owners, and a lock that has changed', () => {
    const unlock = (root: string, lockSha256?: string) => () => recoverWorkflowResumeLease(root, 'run-1', { yes: true, ...(lockSha256 ? { lockSha256 } : {}), ...word })
    const refused = (message: string) => expect.objectContaining({ code: 'WORKFLOW_REFUSED', message })
    expect(unlock(locked({ pid: process.pid }))).toThrow(refused('workflow resume unlock refused: owner is live'))
    expect(unlock(locked({ host: 'elsewhere' }))).toThrow(refused('workflow resume unlock refused: owner is unknown'))
    expect(unlock(locked({ pid: '12' }))).toThrow(refused('workflow resume unlock refused: owner is unknown'))
    expect(unlock(scratch())).toThrow(refused('workflow resume unlock refused: owner is absent'))
    const root = locked()
    const before = digestOf(lockFile(root))
    rmSync(lockFile(root))
    locked({ owner_id: 'another' }, root)
    expect(unlock(root, before)).toThrow(refused('workflow resume unlock requires the exact current preview digest'))
    expect(unlock(root)).toThrow(refused('workflow resume unlock requires the exact current preview digest'))
    expect(existsSync(lockFile(root))).toBe(true)
    expect(listWorkflowRecoveries(root, 'run-1')).toEqual([])
  })

  it('takes an actor and a reason', () => {
    const root = locked()
    const lockSha256 = digestOf(lockFile(root))
    for (const bad of [{}, { ...word, actor: ' ' }, { ...word, actor: 'x'.repeat(201) }, { ...word, reason: 'x'.repeat(2001) }]) {
      expect(() => recoverWorkflowResumeLease(root, 'run-1', { yes: true, lockSha256, ...bad })).toThrow(/^workflow recovery (actor|reason) must have 1 to/)
    }
    expect(() => recoverWorkflowResumeLease(root, 'run-1', { yes: 'yes' as never })).toThrow('options.yes must be a boolean, not a string')
    expect(existsSync(path.join(runDir(root), 'recovery'))).toBe(false)
  })
})

describe('an audited recovery', () => {
  const input = { run_id: 'run-1', action: 'reclaim', target_sha256: 'a'.repeat(64), target: { paths: ['x'], odd: '\ud800' }, ...word }

  it('is on record before it is done, and is listed until it is completed and after', () => {
    const root = scratch()
    const recovery = beginWorkflowRecovery(root, { ...input, actor: ' op\n' })
    expect(recovery.intent).toMatchObject({ ...input, actor: 'op', schema_version: 1 })
    const file = path.join(runDir(root), 'recovery', recovery.intent.operation_id, 'intent.json')
    expect(readFileSync(file, 'utf8')).toBe(`${JSON.stringify(recovery.intent, null, 2)}\n`)
    expect(listWorkflowRecoveries(root, 'run-1')).toStrictEqual([{ intent: recovery.intent, completion: null }])
    recovery.assertCurrent()
    recovery.complete()
    recovery.complete()
    const [recorded] = listWorkflowRecoveries(root, 'run-1')
    expect(recorded?.completion).toMatchObject({ operation_id: recovery.intent.operation_id })
    const { assertCurrent } = recovery
    writeFileSync(file, '{}')
    expect(assertCurrent).toThrow(expect.objectContaining({ code: 'WORKFLOW_CORRUPT', message: `workflow recovery intent changed: ${file}` }))
  })

  it('s5 is the same recovery in a directory whose name is no UTF-8', () => {
    const parent = scratch()
    mkdirSync(Buffer.concat([Buffer.from(`${parent}/x-`), Buffer.from([0xff, 0xc3, 0xa9])]))
    const script = `
      const { beginWorkflowRecovery, listWorkflowRecoveries } = require(${JSON.stringify(path.resolve('index.js'))})
      const recovery = beginWorkflowRecovery('.', ${JSON.stringify(input)})
      recovery.assertCurrent()
      recovery.complete()
      console.log(listWorkflowRecoveries('.', 'run-1')[0].completion.operation_id === recovery.intent.operation_id)`
    const said = execFileSync('sh', ['-c', 'cd "$0"/* && exec "$@"', parent, process.execPath, '-e', script], { encoding: 'utf8' })
    expect(said).toBe('true\n')
    expect(readdirSync(parent)).toHaveLength(1)
  })

  it('keeps nothing open, completed or not', () => {
    const root = scratch()
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    for (let n = 0; n < 20; n++) beginWorkflowRecovery(root, input).assertCurrent()
    expect(open()).toBe(before)
  })

  it('takes a digest, an actor and a reason', () => {
    const root = scratch()
    expect(() => beginWorkflowRecovery(root, { ...input, target_sha256: 'A'.repeat(64) })).toThrow(expect.objectContaining({ code: 'WORKFLOW_INPUT' }))
    expect(() => beginWorkflowRecovery(root, { ...input, reason: '' })).toThrow('workflow recovery reason must have 1 to 2000 characters')
    expect(() => beginWorkflowRecovery(root, { ...input, run_id: '../x' })).toThrow('invalid workflow run id "../x"')
    for (const target of [() => 1, Symbol('s')]) {
      expect(() => beginWorkflowRecovery(root, { ...input, target })).toThrow('input.target must be a value that JSON can hold')
    }
    expect(() => beginWorkflowRecovery(root, {} as never)).toThrow('input.run_id must be a string, not undefined')
    expect(readdirSync(root)).toEqual([])
  })
})

describe('repository evidence', () => {
  const git = (dir: string, ...args: string[]) => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'init.defaultBranch=main', '-c', 'commit.gpgsign=false', '-C', dir, ...args], { encoding: 'utf8' }).trim()

  it('tells a work tree, and what changed in it', () => {
    const root = scratch()
    git(root, 'init', '-q')
    writeFileSync(path.join(root, 'a'), 'a')
    git(root, 'add', '.')
    git(root, 'commit', '-qm', 'one')
    const before = observeRepository(root)
    expect(before).toStrictEqual({ cwd: root, observation: 'ok', root, branch: 'main', head: git(root, 'rev-parse', 'HEAD'), dirty_paths: [] })
    writeFileSync(path.join(root, 'new\nfile'), '')
    writeFileSync(path.join(root, 'other'), '')
    const after = observeRepository(root, { maxPaths: 1 })
    expect(after.dirty_paths).toEqual(['new\nfile'])
    expect(after.dirty_paths_truncated).toBe(true)
    expect(isRepoSnapshot(before) && isRepoSnapshot(after)).toBe(true)
    expect(compareRepoSnapshots(before, after)).toStrictEqual({
      source: 'engine',
      before,
      after,
      drift: {
        branch_changed: false,
        head_changed: false,
        dirty_paths_added: ['new\nfile'],
        dirty_paths_cleared: null,
        dirty_paths_retained: [],
        incomplete: true,
        note: 'The list of dirty paths after the run was truncated.',
      },
    })
  })

  it('finds git where process.env says', () => {
    const root = scratch()
    writeFileSync(path.join(root, 'git'), '#!/bin/sh\necho "fatal: not today" >&2\nexit 1\n')
    chmodSync(path.join(root, 'git'), 0o700)
    const { PATH } = process.env
    try {
      process.env.PATH = root
      expect(observeRepository(root)).toMatchObject({ observation: 'unavailable', observation_detail: 'git: fatal: not today', dirty_paths: [] })
    } finally {
      process.env.PATH = PATH
    }
  })

  it('takes an absolute path', () => {
    expect(() => observeRepository('relative')).toThrow(expect.objectContaining({ code: 'WORKFLOW_INPUT' }))
    expect(() => observeRepository('/', { maxPaths: -1 })).toThrow(RangeError)
  })

  it('normalizes a snapshot from before observations', () => {
    const old = { cwd: '/w', branch: 'main', dirty_paths: [], more: 1 }
    expect(normalizeRepoSnapshot(old)).toStrictEqual({ ...old, observation: 'unavailable', observation_detail: 'No repository observation was recorded.' })
    const ok: WorkflowRepoSnapshot = { cwd: '/w', observation: 'ok', dirty_paths: [] }
    expect(normalizeRepoSnapshot(ok)).toStrictEqual(ok)
    expect(compareRepoSnapshots(old as never, ok).drift).toMatchObject({ branch_changed: null, dirty_paths_retained: null, incomplete: true })
  })

  it('knows a snapshot by its shape', () => {
    const cyclic: Record<string, unknown> = { cwd: '/w', dirty_paths: [] }
    cyclic.self = cyclic
    for (const value of [undefined, null, 1, 'x', [], () => 1, {}, { cwd: 'w', dirty_paths: [] }, { cwd: '/w', dirty_paths: [undefined] }, { cwd: '/w', dirty_paths: [], head: 1n }, cyclic]) {
      expect(isRepoSnapshot(value)).toBe(false)
    }
    expect(isRepoSnapshot({ cwd: '/w', dirty_paths: [], branch: undefined })).toBe(true)
    expect(() => compareRepoSnapshots({} as never, {} as never)).toThrow('before is no repository snapshot')
    expect(() => normalizeRepoSnapshot(1 as never)).toThrow('snapshot must be an object, not a number')
  })
})

it('a run’s manifest is where path.join puts it', () => {
  for (const root of ['/p', 'rel/./x', '', '/a/../b/']) {
    expect(workflowRunManifestPath(root, 'r')).toBe(path.join(root, '.harnery', 'workflows', 'r', 'run.json'))
  }
})
