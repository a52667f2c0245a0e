// `node:fs` with a look before each call: to record what is called, to stop there, to end the process there.

import * as files from 'node:fs'
import { basename } from 'node:path'

const CALLS = [
  'closeSync',
  'existsSync',
  'fsyncSync',
  'linkSync',
  'lstatSync',
  'mkdirSync',
  'openSync',
  'readFileSync',
  'renameSync',
  'rmdirSync',
  'unlinkSync',
  'writeFileSync',
]
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** The file calls that a lease needs; `before` is told each one, as `renameSync recovery quarantine-*`. */
export function filesWith(before) {
  return Object.fromEntries(
    CALLS.map((name) => [
      name,
      (...args) => {
        before(described(name, args))
        return files[name](...args)
      },
    ]),
  )
}

function described(name, args) {
  const paths = name === 'linkSync' || name === 'renameSync' ? args.slice(0, 2) : args.slice(0, 1)
  const names = paths.filter((path) => typeof path === 'string').map((path) => basename(path).replace(UUID, '*'))
  return [name, ...names].join(' ')
}
