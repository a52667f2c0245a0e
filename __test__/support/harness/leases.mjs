// No-clobber leases a second time, in plain JavaScript: the steps that the harness takes on the same files.
//
// Written from the description of those steps, faults included, to contend with the addon. It is an opponent and a
// reference, not a product: two of these on one lease can rob each other (see the replays in mixed.test.ts).
//
//   acquire   own owner file → no `recovery` → link it to `current` → held
//             `current` is someone's, dead → claim → rename to `recovery` → pin → unlink `current` → link own → retire
//   reclaim   `recovery` of a dead claimant → rename to `quarantine-…` → empty it
//   release   `current` is exactly mine → unlink it, unlink my owner file
//
// Every step is one call of `files`, which stands for `node:fs`: whoever hands in another one can stop between any two.

import { randomUUID } from 'node:crypto'
import * as nodeFiles from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { SAFE_COMPONENT, SHA256, claimText, readClaim, readOwner, sha256 } from './owner.mjs'

const ATTEMPTS = 8

/** Take the lease or throw, on the given file calls. */
export function acquireNoClobberLease(input, files = nodeFiles) {
  const lease = resolve(input.path)
  if (!isValid(input, lease)) throw new Error('no-clobber lease input is invalid')
  createLeaseDirectory(files, lease, input)
  return new Contender(files, lease, input).acquire()
}

class Contender {
  constructor(files, lease, input) {
    this.files = files
    this.lease = lease
    this.input = input
    this.now = input.now ?? Date.now
    this.current = join(lease, 'current')
    this.recovery = join(lease, 'recovery')
    this.owner = newOwner(input, this.now())
    this.bytes = `${JSON.stringify(this.owner)}\n`
    this.ownFile = join(lease, this.owner.owner_file)
    // From here on a failing call leaves everything as it is: the claim names this process, which lives.
    this.claimed = false
  }

  acquire() {
    this.writeSynced(this.ownFile, this.bytes)
    this.syncDirectory(this.lease)
    try {
      if (this.exists(this.recovery)) this.reclaim()
      const observed = this.link()
      if (observed === undefined) return this.handle()
      this.assertReplaceable(observed.owner)
      this.replace(observed)
      return { ...this.handle(), recovered_owner: observed.owner }
    } catch (error) {
      if (!this.claimed) this.unlinkIfThere(this.ownFile)
      throw error
    }
  }

  /** Link the own file to `current`. Whoever holds it already is returned; nothing, when it is linked. */
  link() {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        this.files.linkSync(this.ownFile, this.current)
      } catch (error) {
        if (error.code !== 'EEXIST') throw error
        this.input.onContention?.()
        try {
          return readOwner(this.files, this.current)
        } catch (failure) {
          if (failure.code === 'ENOENT') continue
          throw failure
        }
      }
      this.syncDirectory(this.lease)
      this.assertCurrentIsOwn()
      if (!this.exists(this.recovery)) return undefined
      if (this.sameInode(this.current, this.ownFile)) this.files.unlinkSync(this.current)
      throw this.inProgress()
    }
    throw new Error(`lease ${this.input.scope} changed repeatedly during contention`)
  }

  assertReplaceable(owner) {
    const { scope, validateStaleOwner } = this.input
    if (this.isLive(owner)) {
      throw new Error(`lease ${scope} is held by a live or unexpired owner, or its liveness is unknown`)
    }
    if (owner.scope !== scope || (validateStaleOwner && !validateStaleOwner(owner))) {
      throw new Error(`stale lease ${scope} has mismatched authority`)
    }
  }

  /** Put the own file in the place of a dead owner's, under a claim that keeps the others away. */
  replace(observed) {
    const pin = join(this.recovery, 'stale-pin')
    const done = (directory, step) => {
      this.syncDirectory(directory)
      this.input.onRecoveryStep?.(step)
    }
    this.publishClaim(observed)
    this.claimed = true
    done(this.lease, 'claim_created')

    try {
      this.files.linkSync(this.current, pin)
      this.assertSame(this.current, pin, observed.bytes)
    } catch {
      this.abort()
      this.claimed = false
      throw new Error(`lease ${this.input.scope} recovery raced with another contender`)
    }
    done(this.recovery, 'stale_pinned')

    this.assertSame(this.current, pin, observed.bytes)
    this.files.unlinkSync(this.current)
    done(this.lease, 'current_removed')

    this.files.linkSync(this.ownFile, this.current)
    this.assertCurrentIsOwn()
    done(this.lease, 'new_current_linked')

    this.removePinnedOwner(pin, observed.owner)
    this.retire(() => this.input.onRecoveryStep?.('recovery_retired'))
  }

  publishClaim(observed) {
    const prepared = join(this.lease, `recovery-claim-${this.owner.owner_id}`)
    this.files.mkdirSync(prepared, { mode: 0o700 })
    this.writeSynced(join(prepared, 'claim.json'), claimText(this.owner, observed))
    this.syncDirectory(prepared)
    try {
      this.files.renameSync(prepared, this.recovery)
    } catch (error) {
      this.unlinkIfThere(join(prepared, 'claim.json'))
      this.files.rmdirSync(prepared)
      if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') throw this.inProgress()
      throw error
    }
  }

  /** Take back the own claim when `current` is no longer what was judged. */
  abort() {
    const { claimant } = readClaim(this.files, this.recovery)
    if (claimant.owner_id !== this.owner.owner_id) {
      throw new Error(`lease ${this.input.scope} recovery ownership changed`)
    }
    this.retire()
  }

  /** Move the own claim to a private name, then empty it: in place, another's claim could land on the empty directory. */
  retire(onRetired) {
    const retired = join(this.lease, `recovery-retired-${this.owner.owner_id}`)
    this.files.renameSync(this.recovery, retired)
    this.syncDirectory(this.lease)
    onRetired?.()
    this.unlinkIfThere(join(retired, 'stale-pin'))
    this.files.unlinkSync(join(retired, 'claim.json'))
    this.files.rmdirSync(retired)
    this.syncDirectory(this.lease)
  }

  /** Clear the claim of a contender that ended in the middle of its recovery. */
  reclaim() {
    const { scope, validateStaleOwner } = this.input
    const claim = readClaim(this.files, this.recovery)
    const { claimant, observed_owner: observed } = claim
    if (this.isLive(claimant)) throw this.inProgress()
    if (
      claimant.scope !== scope ||
      observed.scope !== scope ||
      (validateStaleOwner && !validateStaleOwner(observed))
    ) {
      throw new Error(`stale lease ${scope} recovery has mismatched authority`)
    }
    this.assertPinned(join(this.recovery, 'stale-pin'), claim)

    const quarantine = join(this.lease, `quarantine-${randomUUID()}`)
    this.files.renameSync(this.recovery, quarantine)
    this.syncDirectory(this.lease)
    const pin = join(quarantine, 'stale-pin')
    if (this.assertPinned(pin, claim)) {
      this.removePinnedOwner(pin, observed)
      this.files.unlinkSync(pin)
    }
    const claimantFile = join(this.lease, claimant.owner_file)
    if (this.exists(claimantFile) && !(this.exists(this.current) && this.sameInode(this.current, claimantFile))) {
      this.files.unlinkSync(claimantFile)
    }
    this.files.unlinkSync(join(quarantine, 'claim.json'))
    this.files.rmdirSync(quarantine)
    this.syncDirectory(this.lease)
  }

  /** Whether there is a pin; one that is not the observed owner is taken for corruption. */
  assertPinned(pin, claim) {
    if (!this.exists(pin)) return false
    const { bytes, owner } = readOwner(this.files, pin)
    if (sha256(bytes) !== claim.observed_sha256 || owner.owner_id !== claim.observed_owner.owner_id) {
      throw new Error(`stale lease ${this.input.scope} recovery pin is corrupt`)
    }
    return true
  }

  removePinnedOwner(pin, owner) {
    const file = join(this.lease, owner.owner_file)
    if (this.exists(file) && this.sameInode(file, pin)) this.files.unlinkSync(file)
  }

  handle() {
    let released = false
    return {
      owner: this.owner,
      release: () => {
        if (released) return
        this.assertCurrentIsOwn()
        this.files.unlinkSync(this.current)
        this.files.unlinkSync(this.ownFile)
        this.syncDirectory(this.lease)
        released = true
      },
    }
  }

  /** Expiry alone proves nothing: it only makes a process of this host worth asking for. */
  isLive(owner) {
    const created = Date.parse(owner.created_at)
    const expires = Date.parse(owner.expires_at)
    const now = this.now()
    if (
      !Number.isFinite(created) ||
      !Number.isFinite(expires) ||
      expires !== created + this.input.staleAfterMs ||
      now < created ||
      now < expires
    ) {
      return true
    }
    if (owner.host !== hostname()) return true
    const probe = this.input.probePid ?? ((pid) => process.kill(pid, 0))
    try {
      probe(owner.pid)
      return true
    } catch (error) {
      return error?.code !== 'ESRCH'
    }
  }

  assertCurrentIsOwn() {
    const { bytes, owner } = readOwner(this.files, this.current)
    if (
      bytes !== this.bytes ||
      owner.owner_id !== this.owner.owner_id ||
      !this.sameInode(this.current, this.ownFile)
    ) {
      throw new Error(`lease ${this.input.scope} ownership changed`)
    }
  }

  assertSame(path, other, bytes) {
    if (!this.sameInode(path, other)) throw new Error('lease owner inode changed')
    if (this.files.readFileSync(path, 'utf8') !== bytes || this.files.readFileSync(other, 'utf8') !== bytes) {
      throw new Error('lease owner bytes changed')
    }
  }

  sameInode(path, other) {
    const [a, b] = [path, other].map((each) => this.files.lstatSync(each, { bigint: true }))
    return a.dev === b.dev && a.ino === b.ino
  }

  exists(path) {
    return this.files.existsSync(path)
  }

  unlinkIfThere(path) {
    try {
      this.files.unlinkSync(path)
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
  }

  writeSynced(path, text) {
    const fd = this.files.openSync(path, 'wx', 0o600)
    try {
      this.files.writeFileSync(fd, text, 'utf8')
      this.files.fsyncSync(fd)
    } finally {
      this.files.closeSync(fd)
    }
  }

  syncDirectory(path) {
    syncDirectory(this.files, path)
  }

  inProgress() {
    return new Error(`lease ${this.input.scope} recovery is already in progress`)
  }
}

function isValid(input, lease) {
  return (
    SAFE_COMPONENT.test(basename(lease)) &&
    SAFE_COMPONENT.test(input.scope) &&
    SHA256.test(input.authoritySha256) &&
    Number.isSafeInteger(input.staleAfterMs) &&
    input.staleAfterMs >= 1
  )
}

function newOwner(input, now) {
  const id = randomUUID()
  return {
    schema_version: 1,
    owner_id: id,
    owner_file: `owner-${id}.json`,
    scope: input.scope,
    authority_sha256: input.authoritySha256,
    ...(input.metadata ? { metadata: { ...input.metadata } } : {}),
    pid: input.pid ?? process.pid,
    host: input.host ?? hostname(),
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + input.staleAfterMs).toISOString(),
  }
}

function createLeaseDirectory(files, lease, input) {
  files.mkdirSync(dirname(lease), { recursive: true, mode: 0o700 })
  input.onLeaseDirectoryCreate?.()
  try {
    files.mkdirSync(lease, { mode: 0o700 })
    syncDirectory(files, dirname(lease))
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (!files.lstatSync(lease).isDirectory()) throw new Error(`lease ${input.scope} directory is invalid`)
  }
}

function syncDirectory(files, path) {
  const fd = files.openSync(path, 'r')
  try {
    files.fsyncSync(fd)
  } finally {
    files.closeSync(fd)
  }
}
