// The command: doctor and inspect, for people and as JSON; what they refuse, and that they leave nothing behind.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { acquireNoClobberLease, kernelFeatures, registerServer } from '../index.js'
import { scratch } from './support/scratch.js'

const command = path.resolve('bin/harnery-native.js')
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** Every file below a folder with its bytes. */
function everything(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true }) as import('node:fs').Dirent[]
  return entries.map((entry) => {
    const name = path.join(entry.parentPath, entry.name)
    return entry.isFile() ? `${name} ${readFileSync(name, 'utf8')}` : name
  }).sort()
}

/** A refusal: one sentence on standard error, nothing else, and the exit code for it. */
function refusal(...args: string[]): string {
  const { status, stdout, stderr } = run(...args)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  return stderr.trimEnd()
}

const TAKES = 'inspect takes a lease\'s directory, or a coordination root.'
const GIVE = 'give doctor a directory where it may write for a moment.'

describe('doctor', () => {
  it('prints what the machine offers, and what syncs cost in a directory', () => {
    const root = scratch()
    const { status, stdout, stderr } = run('doctor', root)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^package: ${version}\nnode: ${process.version}\nplatform: \\w+-\\w+\nkernel: .*\nok: yes\nbinary: .*\\.node\n`))
    expect(stdout).toMatch(new RegExp(`disk:\n  directory: ${root}\n  hard links: yes\n  link ms: [\\d.]+\n  sync file ms: [\\d.]+\n  sync directory ms: [\\d.]+\n$`))
    expect(readdirSync(root)).toEqual([])
  })

  it('says the same as JSON', () => {
    const { status, stdout } = run('doctor', scratch(), '--json')
    const { features, disk, ...rest } = JSON.parse(stdout)
    expect(status).toBe(0)
    expect(rest).toMatchObject({ package: version, node: process.version, ok: true, platform: `${process.platform}-${process.arch}` })
    expect(features).toEqual(JSON.parse(JSON.stringify(kernelFeatures())))
    expect(disk).toMatchObject({ hard_links: true, link_ms: expect.any(Number), sync_file_ms: expect.any(Number), sync_directory_ms: expect.any(Number) })
  })

  it('names a directory that is not there, is none, or cannot be written to', () => {
    const root = scratch()
    const missing = path.join(root, 'missing')
    expect(refusal('doctor', missing)).toBe(`${missing} does not exist: ${GIVE}`)
    const file = path.join(root, 'file')
    writeFileSync(file, '')
    expect(refusal('doctor', file)).toBe(`${file} is no directory: ${GIVE}`)
    // Where nobody may write, not even root; else a directory without the right to.
    const readOnly = process.platform === 'linux' ? '/sys' : root
    if (readOnly === root) chmodSync(root, 0o555)
    expect(refusal('doctor', readOnly)).toMatch(new RegExp(`^${readOnly} cannot be written to \\((EPERM|EACCES|EROFS)\\): ${GIVE}$`))
    chmodSync(root, 0o755)
  })
})

describe('inspect', () => {
  it('says who holds a lease, and changes nothing', () => {
    const lease = path.join(scratch(), 'lease')
    const held = acquireNoClobberLease({ path: lease, scope: 'inspected', authoritySha256: 'a'.repeat(64), staleAfterMs: 60_000 })
    const before = everything(lease)
    const { status, stdout, stderr } = run('inspect', lease)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain(`lease: ${lease}\nstate: held\n`)
    expect(stdout).toContain(`pid: ${process.pid}\n`)
    const json = JSON.parse(run('inspect', lease, '--json').stdout)
    expect(json).toMatchObject({ lease, state: 'held', owner: { scope: 'inspected', pid: process.pid } })
    expect(everything(lease)).toEqual(before)
    held.release()
    expect(run('inspect', lease).stdout).toContain('state: free\n')
  })

  it('lists the servers of a coordination root, and changes nothing', () => {
    const root = scratch()
    registerServer({ kind: 'session', type: 'listed' }, { coordRoot: root })
    registerServer({ kind: 'session', type: 'other', port: 1 }, { coordRoot: root })
    writeFileSync(path.join(root, '.harnery', 'servers', 'broken.json'), '{')
    const before = everything(root)
    const { status, stdout, stderr } = run('inspect', root)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(new RegExp(`^coord root: ${root}\nscan: \\w+\nservers:\n  -\n    id: listed\n    state: running\n    kind: session\n    pid: ${process.pid}\n`))
    const { servers } = JSON.parse(run('inspect', root, '--json').stdout)
    expect(servers.map((server: { id: string }) => server.id)).toEqual(['listed', 'other'])
    expect(everything(root)).toEqual(before)
  })

  it('names what is neither, is not there, or is no directory', () => {
    const root = scratch()
    const missing = path.join(root, 'missing')
    expect(refusal('inspect', missing)).toBe(`${missing} does not exist: ${TAKES}`)
    writeFileSync(path.join(root, 'file'), '')
    expect(refusal('inspect', path.join(root, 'file'))).toBe(`${path.join(root, 'file')} is no directory: ${TAKES}`)
    expect(refusal('inspect', root)).toBe(`${root} is neither a lease's directory nor a coordination root (there is no .harnery in it).`)
  })

  it('says of a corrupt lease what is in it, and what helps', () => {
    const lease = path.join(scratch(), 'lease')
    mkdirSync(lease)
    writeFileSync(path.join(lease, 'current'), 'no owner')
    const { stdout } = run('inspect', lease)
    expect(stdout).toContain('state: corrupt\n')
    expect(stdout).toContain('entries:\n  - current\n')
    expect(stdout).toContain('repairNoClobberLease moves it aside\n')
  })
})

it.each([[[]], [['fix']], [['inspect']], [['doctor', '.', 'and']], [['doctor', '--all']]])('the arguments %j are answered with the usage and exit code 2', (args) => {
  const { status, stdout, stderr } = run(...args)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain('usage: harnery-native doctor [DIRECTORY] [--json]\n       harnery-native inspect LEASE|COORDROOT [--json]')
})

it('prints the usage on request', () => {
  expect(run('--help')).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('usage: harnery-native doctor') })
})
