// The system calls of one operation as strace shows them, in the form that benches/bare replays.

import { spawnSync } from 'node:child_process'
import { accessSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** Looked for before and after each operation: the calls between two of these are one operation's. */
export const MARK = '/harnery-bench/mark'

/** The engine's and the runtime's own, not the operation's. */
const NOT_OURS = new Set(['brk', 'epoll_pwait', 'futex', 'madvise', 'mmap', 'mprotect', 'munmap', 'sched_yield'])

/** What each argument is. A buffer's size is another argument (`out2`: the one with index 2) or fixed (`out/512`). */
const ARGUMENTS = {
  close: 'fd',
  faccessat: 'fd path number',
  fchmod: 'fd number',
  fcntl: 'fd number number',
  fdatasync: 'fd',
  flock: 'fd number',
  fstat: 'fd out/512',
  fstatfs: 'fd out/512',
  fsync: 'fd',
  getdents64: 'fd out2 number',
  geteuid: '',
  getpid: '',
  getrandom: 'out1 number number',
  kill: 'number number',
  linkat: 'fd path fd path number',
  lseek: 'fd number number',
  mkdirat: 'fd path number',
  newfstatat: 'fd path out/512 number',
  openat: 'fd path number number',
  ppoll: 'pollfd number now number number',
  pidfd_open: 'number number',
  pread64: 'fd out2 number number',
  pwrite64: 'fd in2 number number',
  read: 'fd out2 number',
  readlinkat: 'fd path out3 number',
  renameat: 'fd path fd path',
  renameat2: 'fd path fd path number',
  statx: 'fd path number number out/512',
  uname: 'out/512',
  unlinkat: 'fd path number',
  write: 'fd in2 number',
}

const GIVES_DESCRIPTOR = new Set(['openat', 'pidfd_open'])

/** What a traced script does: its operation between marks, many times. */
export function traced(operation) {
  for (let round = 0; round <= 50; round++) {
    try {
      accessSync(MARK)
    } catch {
      // It is never there.
    }
    operation()
  }
  process.stdout.write(String(process.pid))
}

/**
 * The list of one operation's calls. `script` is run with `dir` and the other words; it is [`traced`].
 *
 * Null where strace is missing or may not trace.
 */
export function record(script, dir, words = []) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'harnery-strace-'))
  try {
    const output = path.join(folder, 'calls')
    // Without -f: the operation is the main thread's.
    const options = ['-y', '-X', 'raw', '-s', '65536', '-o', output]
    const done = spawnSync('strace', [...options, process.execPath, script, dir, ...words], { encoding: 'utf8' })
    if (done.error || done.status !== 0) return null
    const text = readFileSync(output, 'utf8')
    return list(usual(windows(text)), { dir, pid: Number(done.stdout) })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The calls without their names and sizes, to tell whether two lists are of one operation. */
export function shape(list) {
  const calls = list.split('\n').filter((line) => line && !line.startsWith('#') && !line.startsWith('have'))
  return calls.map((line) => `${line.split(' ')[0]} ${line.includes('= -') ? line.split('= ')[1] : ''}`.trim())
}

function windows(text) {
  const found = []
  for (const line of text.split('\n')) {
    if (line.includes(`"${MARK}"`)) found.push([])
    else if (/^\w+\(/.test(line) && !NOT_OURS.has(line.slice(0, line.indexOf('(')))) found.at(-1)?.push(line)
  }
  // What follows the last mark is the program's end.
  return found.slice(0, -1)
}

/** The most frequent sequence of calls: now and then the engine does something of its own in between. */
function usual(windows) {
  const names = (window) => window.map((line) => line.slice(0, line.indexOf('('))).join()
  const counts = new Map()
  for (const window of windows) counts.set(names(window), (counts.get(names(window)) ?? 0) + 1)
  const [[most]] = [...counts].sort((a, b) => b[1] - a[1])
  return windows.findLast((window) => names(window) === most)
}

function list(window, where) {
  const given = new Set()
  const had = new Map()
  const lines = window.map((line) => {
    const [, name, inside, answer] = /^(\w+)\((.*)\)\s+= (.*)$/.exec(line)
    if (!(name in ARGUMENTS)) throw new Error(`benches/strace.mjs and benches/bare do not know ${name}`)
    const given_ = split(inside)
    const kinds = ARGUMENTS[name].split(' ').slice(0, given_.length)
    const words = kinds.map((kind, index) => {
      if (kind === 'pollfd') return polled(given_[index], given, had, where)
      // A look: one that waits is not replayed.
      if (kind === 'now') return 'out:16'
      if (kind === 'fd') return descriptor(given_[index], given, had, where)
      if (kind === 'path') return quoted(JSON.parse(given_[index]), where)
      if (kind === 'number') return number(given_[index], where)
      const [, direction, fixed, from] = /^(in|out)(?:\/(\d+)|(\d+))$/.exec(kind)
      return `${direction}:${fixed ?? Number(given_[Number(from)])}`
    })
    return [name, ...words, '=', answered(name, answer, given, where)].join(' ')
  })
  return [...[...had].map(([fd, at]) => `have ${fd} ${quoted(at, where)}`), ...lines, ''].join('\n')
}

/** The arguments as strace writes them, apart: commas inside quotes, brackets and braces do not count. */
function split(inside) {
  const parts = []
  let depth = 0
  let start = 0
  for (let at = 0; at < inside.length; at++) {
    const character = inside[at]
    if (character === '"') {
      while (inside[++at] !== '"') if (inside[at] === '\\') at++
    } else if ('{[('.includes(character)) depth++
    else if ('}])'.includes(character)) depth--
    else if (character === ',' && depth === 0) {
      parts.push(inside.slice(start, at).trim())
      start = at + 1
    }
  }
  return inside === '' ? [] : [...parts, inside.slice(start).trim()]
}

function descriptor(text, given, had, where) {
  const [, number, at] = /^(-?\d+)(?:<(.*)>(?:\(deleted\))?)?$/.exec(text)
  if (Number(number) < 0) return number
  if (!given.has(number) && !had.has(number)) {
    if (!at?.startsWith('/')) throw new Error(`descriptor ${text} cannot be had beforehand`)
    had.set(number, at)
  }
  return `fd:${number}`
}

/** One descriptor, asked whether it is readable. */
function polled(text, given, had, where) {
  const [, fd] = /^\[\{fd=(\d+(?:<[^>]*>)?), events=/.exec(text)
  return descriptor(fd, given, had, where).replace('fd:', 'poll:')
}

function quoted(text, { dir, pid }) {
  const general = text.replace(dir, '$DIR').replace(`/proc/${pid}/`, '/proc/$PID/')
  if (!/^[!#-[\]-~]*$/.test(general)) throw new Error(`a path of the operation cannot be listed: ${text}`)
  return `"${general}"`
}

function number(text, { pid }) {
  const plain = text.replace('NULL', '0').replace(/<.*>$/, '').replace(/^\|/, '')
  if (Number(plain) === pid) return 'pid'
  // strace writes modes in octal.
  return /^0[0-7]+$/.test(plain) ? `0x${parseInt(plain, 8).toString(16)}` : plain
}

function answered(name, text, given, { pid }) {
  const [, value, error] = /^(-?\d+)(?:<.*>)?(?: (E\w+))?/.exec(text)
  if (error) return String(-os.constants.errno[error])
  if (GIVES_DESCRIPTOR.has(name)) {
    given.add(value)
    return `fd:${value}`
  }
  return Number(value) === pid ? 'pid' : value
}
