// Finds and loads the binary for this machine: beside this file in a checkout, else the platform's own package.
'use strict'

const SUPPORTED = { 'linux-x64-gnu': 'Linux on x64 with glibc' }

function platform() {
  if (process.platform !== 'linux') return `${process.platform}-${process.arch}`
  const report = process.report?.getReport?.()
  const glibc = report?.header?.glibcVersionRuntime
  return `linux-${process.arch}-${glibc ? 'gnu' : 'musl'}`
}

function load() {
  const here = platform()
  const attempts = [`./harnery-native.${here}.node`, `harnery-native-${here}`]
  const reasons = []
  for (const name of attempts) {
    try {
      return require(name)
    } catch (error) {
      // A binary that is there and does not load is the answer; one that is not there is not.
      if (error?.code !== 'MODULE_NOT_FOUND') reasons.push(error)
    }
  }
  throw unsupported(here, reasons)
}

function unsupported(here, reasons) {
  const list = Object.entries(SUPPORTED).map(([name, text]) => `${name} (${text})`).join(', ')
  const known = here in SUPPORTED
  const why = reasons.length > 0
    ? `The binary for ${here} could not be loaded: ${reasons[0].message}`
    : `There is no harnery-native binary for ${here} here.`
  const remedy = known
    ? `Install the package harnery-native-${here} (an optional dependency of harnery-native), or run \`npm run build\` in a checkout.`
    : `Supported: ${list}. Elsewhere, build it from a checkout with Rust: \`npm run build\`.`
  const error = new Error(`${why} ${remedy}`, { cause: reasons[0] })
  error.code = 'ERR_HARNERY_NATIVE_PLATFORM'
  return error
}

module.exports = load()
