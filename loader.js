// Finds and loads the binary for this machine: beside this file in a checkout, else the platform's own package.
'use strict'

const { closeSync, fstatSync, openSync, readFileSync, readSync } = require('node:fs')

/** The name of this machine's platform, as the packages are named. */
function platform() {
  const { platform: os, arch } = process
  return os === 'linux' ? `${os}-${arch}-${isMusl() ? 'musl' : 'gnu'}` : `${os}-${arch}`
}

/** musl's `ldd` is a script that names it; glibc's names glibc. Where neither is there, the runtime's report tells. */
function isMusl() {
  try {
    return readFileSync('/usr/bin/ldd', 'latin1').includes('musl')
  } catch {
    return process.report?.getReport?.().header?.glibcVersionRuntime === undefined
  }
}

function load() {
  const here = platform()
  const reasons = []
  for (const name of [`./harnery-native.${here}.node`, `harnery-native-${here}`]) {
    try {
      const file = require.resolve(name)
      if (process.platform === 'linux') checkWhole(file)
      return require(file)
    } catch (error) {
      reasons.push(error)
    }
  }
  throw unsupported(here, reasons)
}

/** A file that was cut off while it was copied is mapped all the same, and ends the process once a missing page is touched. */
function checkWhole(file) {
  const header = Buffer.alloc(64)
  const fd = openSync(file, 'r')
  const { size } = fstatSync(fd)
  readSync(fd, header)
  closeSync(fd)
  // An ELF file ends with its section headers: where they start, how large each is, how many there are.
  const end = Number(header.readBigUInt64LE(40)) + header.readUInt16LE(58) * header.readUInt16LE(60)
  if (size < end) throw new Error(`${file} is damaged: it has ${size} bytes, of at least ${end}`)
}

function unsupported(here, reasons) {
  const supported = require('./platforms.json')
  // A binary that is there and does not load is the answer; one that is not there is not.
  const broken = reasons.find((reason) => reason?.code !== 'MODULE_NOT_FOUND')
  const list = Object.entries(supported).map(([name, { text }]) => `${name} (${text})`).join(', ')
  const why = broken
    ? `The binary of harnery-native for ${here} could not be loaded: ${broken.message}.`
    : here in supported
      ? `The package harnery-native-${here}, which holds the binary for this platform, is not installed.`
      : `harnery-native has no binary for ${here}.`
  const remedy = here in supported
    ? `Install harnery-native-${here} in the version of harnery-native (an install that leaves out optional dependencies, or a node_modules made on another platform, lacks it).`
    : 'Build it from a checkout with Rust (npm run build).'
  const error = new Error(`${why} ${remedy} Supported: ${list}.`, { cause: broken ?? reasons.at(-1) })
  error.code = 'ERR_HARNERY_NATIVE_PLATFORM'
  error.platform = here
  return error
}

module.exports = load()
