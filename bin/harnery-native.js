#!/usr/bin/env node
// harnery-native doctor [DIRECTORY] [--json]            what this machine offers
// harnery-native inspect LEASE|COORDROOT [--json]        what is on disk there; changes nothing
'use strict'

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { parseArgs } = require('node:util')

const USAGE = `usage: harnery-native doctor [DIRECTORY] [--json]
       harnery-native inspect LEASE|COORDROOT [--json]

doctor   platform, binary, kernel features, and what hard links and syncs cost in DIRECTORY (default: the current one)
inspect  a lease directory, or the server records of a coordination root; read-only`

/** The names that a lease's directory has. */
const LEASE = /^(current|recovery|owner-.*\.json|(recovery-(claim|retired)|quarantine)-.*)$/

main(process.argv.slice(2))

function main(argv) {
  let parsed
  try {
    parsed = parseArgs({ args: argv, allowPositionals: true, options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } })
  } catch (error) {
    return end(2, `${error.message}\n\n${USAGE}`)
  }
  const { values, positionals: [command, target, ...rest] } = parsed
  if (values.help) return console.log(USAGE)
  const known = command === 'doctor' || (command === 'inspect' && target !== undefined)
  if (!known || rest.length > 0) return end(2, USAGE)
  try {
    const answer = command === 'doctor' ? doctor(path.resolve(target ?? '.')) : inspect(path.resolve(target))
    console.log(values.json ? JSON.stringify(answer, null, 2) : text(answer))
    if (answer.ok === false) process.exitCode = 1
  } catch (error) {
    end(1, error.message)
  }
}

function end(code, sentence) {
  console.error(sentence)
  process.exitCode = code
}

function doctor(directory) {
  const answer = {
    package: require('../package.json').version,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    kernel: `${os.type()} ${os.release()}`,
    ok: true,
    binary: '',
  }
  let native
  try {
    native = require('../index.js')
  } catch (error) {
    return { ...answer, ok: false, binary: error.message }
  }
  const features = native.kernelFeatures()
  const disk = measure(directory)
  const binary = Object.keys(require.cache).find((file) => file.endsWith('.node')) ?? 'loaded'
  return { ...answer, ok: disk.hard_links === true, binary, scan: native.scanSupport(), probe: native.startTokenProbe(), features, disk }
}

/** What the operations that a lease is made of cost here, in milliseconds (the median of nine). */
function measure(directory) {
  const folder = temporary(directory)
  const file = (name) => path.join(folder, name)
  try {
    fs.writeFileSync(file('a'), 'doctor\n')
    const answer = { directory, hard_links: true, link_ms: null, sync_file_ms: null, sync_directory_ms: null }
    try {
      answer.link_ms = median(() => {
        fs.linkSync(file('a'), file('b'))
        fs.unlinkSync(file('b'))
      })
    } catch (error) {
      answer.hard_links = `${error.code}: leases cannot be taken here`
    }
    answer.sync_file_ms = withDescriptor(file('a'), 'r+', (fd) => median(() => {
      fs.writeSync(fd, 'x', 0)
      fs.fsyncSync(fd)
    }))
    answer.sync_directory_ms = withDescriptor(folder, 'r', (fd) => median(() => {
      fs.writeFileSync(file('c'), '')
      fs.unlinkSync(file('c'))
      fs.fsyncSync(fd)
    }))
    return answer
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

function temporary(directory) {
  try {
    return fs.mkdtempSync(path.join(directory, '.harnery-native-doctor-'))
  } catch (error) {
    throw new Error(`${directory} ${why(directory, `cannot be written to (${error.code})`)}: give doctor a directory where it may write for a moment.`)
  }
}

/** What is the matter with a directory; `otherwise` where it is one. */
function why(directory, otherwise) {
  const there = fs.statSync(directory, { throwIfNoEntry: false })
  if (there === undefined) return 'does not exist'
  return there.isDirectory() ? otherwise : 'is no directory'
}

function withDescriptor(name, flags, use) {
  const fd = fs.openSync(name, flags)
  try {
    return use(fd)
  } finally {
    fs.closeSync(fd)
  }
}

function median(work) {
  const times = Array.from({ length: 9 }, () => {
    const start = process.hrtime.bigint()
    work()
    return Number(process.hrtime.bigint() - start) / 1e6
  })
  return Number(times.sort((a, b) => a - b)[4].toFixed(3))
}

function inspect(target) {
  const { inspectNoClobberLease, listServers } = require('../index.js')
  const names = list(target)
  if (names.includes('.harnery')) {
    const { servers, scan, unregistered } = listServers({ coordRoot: target, prune: false, sample: false })
    return { coord_root: target, scan, servers: servers.map(server), unregistered }
  }
  if (names.length > 0 && !names.some((name) => LEASE.test(name))) {
    throw new Error(`${target} is neither a lease's directory nor a coordination root (there is no .harnery in it).`)
  }
  const inspection = inspectNoClobberLease(target)
  const remedy = 'acquireNoClobberLease names the file that is at fault; repairNoClobberLease moves it aside'
  return { lease: target, ...inspection, ...(inspection.state === 'corrupt' ? { entries: names.sort(), remedy } : {}) }
}

function list(target) {
  try {
    return fs.readdirSync(target)
  } catch (error) {
    throw new Error(`${target} ${why(target, `cannot be read (${error.code})`)}: inspect takes a lease's directory, or a coordination root.`)
  }
}

function server({ record, state, owner_state, connections, idle_ms }) {
  const { id, kind, pid, port, url } = record
  return { id, state, kind, pid, port, url, connections, owner_state, idle_ms }
}

/** Names and values, indented by depth. */
function text(value, indent = '') {
  return Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .map(([name, each]) => {
      if (each === null || typeof each !== 'object') return `${indent}${label(name)} ${shown(each)}`
      if (Object.keys(each).length === 0) return `${indent}${label(name)} none`
      return `${indent}${label(name)}\n${text(each, `${indent}  `)}`
    })
    .join('\n')
}

function label(name) {
  return /^\d+$/.test(name) ? '-' : `${name.replaceAll('_', ' ')}:`
}

function shown(value) {
  if (value === null) return 'unknown'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return String(value)
}
