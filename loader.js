// Finds and loads the binary for this machine: beside this file in a checkout, else the platform's own package.
//
// This file, whole.js and index.js are in the syntax of Node 12, so that an old Node gets the sentence and no SyntaxError.
'use strict'

const { existsSync, readFileSync } = require('fs')
const { engines, version } = require('./package.json')
const { checkHoles, checkWhole } = require('./whole.js')

const here = platform()
module.exports = load()

/** The name of this machine's platform, as the packages are named. */
function platform() {
  const { platform: os, arch } = process
  return os === 'linux' ? `${os}-${arch}-${isMusl() ? 'musl' : 'gnu'}` : `${os}-${arch}`
}

/** Where musl's loader is, musl may be there beside glibc; then `ldd` tells, which is a script of musl's that names it. */
function isMusl() {
  const arch = { x64: 'x86_64', arm64: 'aarch64' }[process.arch]
  if (!existsSync(`/lib/ld-musl-${arch}.so.1`)) return false
  try {
    return readFileSync('/usr/bin/ldd', 'latin1').includes('musl')
  } catch (_) {
    return process.report !== undefined && process.report.getReport().header.glibcVersionRuntime === undefined
  }
}

function load() {
  checkNode()
  const beside = `${__dirname}/harnery-native.${here}.node`
  try {
    if (existsSync(beside)) {
      checkWhole(beside)
      return require(beside)
    }
    const name = `harnery-native-${here}`
    const file = require.resolve(name)
    checkVersion(name)
    checkWhole(file)
    if (process.platform === 'linux') checkHoles(file)
    return require(file)
  } catch (error) {
    throw unsupported(error)
  }
}

/** Bun and Deno say which Node they stand for. */
function checkNode() {
  const oldest = Number(/\d+/.exec(engines.node)[0])
  if (Number(process.versions.node.split('.')[0]) >= oldest) return
  throw refusal(`harnery-native needs Node ${oldest} or later, and this is Node ${process.versions.node}. Run it with a newer Node.`)
}

/** The packages fit together only in one version; a lock file that was edited by hand can mix them. */
function checkVersion(name) {
  const found = require(`${name}/package.json`).version
  if (found !== version) throw new Error(`${name} has version ${found}, and harnery-native has ${version}`)
}

function unsupported(error) {
  const supported = require('./platforms.json')
  // A binary that is there and does not load is the answer; one that is not there is not.
  const broken = error.code !== 'MODULE_NOT_FOUND' && error
  const list = Object.keys(supported).map((name) => `${name} (${supported[name].text})`).join(', ')
  return refusal(`${why(broken, here in supported)} Supported: ${list}.`, error)
}

/** What is the matter, and what to do. */
function why(broken, isSupported) {
  const binary = `harnery-native-${here}`
  if (broken) {
    return `The binary of harnery-native for ${here} could not be loaded: ${firstLine(broken.message)}. Install ${binary}@${version} again.`
  }
  if (isSupported) {
    return `The package ${binary}, which holds the binary for this platform, is not installed. Install ${binary}@${version} (an install that leaves out optional dependencies, or a node_modules made on another platform, lacks it).`
  }
  const remedy = ['linux', 'darwin'].includes(process.platform) ? 'Build it from a checkout with Rust (npm run build).' : 'It runs on Linux and macOS.'
  return `harnery-native has no binary for ${here}. ${remedy}`
}

function firstLine(text) {
  return text.split('\n')[0].replace(/\.$/, '')
}

function refusal(message, cause) {
  const error = new Error(message, { cause })
  error.code = 'ERR_HARNERY_NATIVE_PLATFORM'
  error.platform = here
  return error
}
