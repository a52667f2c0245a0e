// What a fresh machine lacks, made from the lock files, with a word about each step. Node's own modules only: this
// runs before anything is installed.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

export function say(text) {
  console.log(`\n› ${text}`)
}

/** Run a program in the project's folder; end with a sentence when it fails. */
export function run(command, args, { env, what = `${command} ${args.join(' ')}` } = {}) {
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  if (done.error) fail(`${what} could not be run: ${done.error.message}`)
  if (done.status !== 0) fail(`${what} failed (${done.signal ?? `exit code ${done.status}`})`)
}

export function fail(sentence) {
  console.error(`\n✗ ${sentence}`)
  process.exit(1)
}

/** See that Rust is there, new enough, and with these of cargo's commands. */
export function checkRust(...commands) {
  const needed = 'Rust 1.89 or later is needed (rustup.rs installs it)'
  const version = spawnSync('cargo', ['--version'], { encoding: 'utf8' })
  if (version.error) fail(`${needed}, and there is no cargo on the PATH.`)
  const [, major, minor] = /(\d+)\.(\d+)/.exec(version.stdout) ?? []
  if (major === undefined || (Number(major) === 1 && Number(minor) < 89)) fail(`${needed}, and this is ${version.stdout.trim()}.`)
  for (const command of commands) {
    if (spawnSync('cargo', [command, '--version']).status !== 0) {
      fail(`cargo ${command} is missing. Install it: rustup component add rustfmt clippy`)
    }
  }
}

/** Install the development packages when they are missing or not those of package-lock.json. */
export function installPackages() {
  if (installed() === wanted()) return
  say('Installing the development packages from package-lock.json (npm ci)')
  run('npm', ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'])
}

function wanted() {
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
  return versions(packages)
}

function installed() {
  const file = path.join(root, 'node_modules', '.package-lock.json')
  return existsSync(file) ? versions(JSON.parse(readFileSync(file, 'utf8')).packages) : ''
}

/** Packages for other platforms are in the lock file only; what is optional does not count. */
function versions(packages) {
  return Object.entries(packages)
    .filter(([name, { optional }]) => name !== '' && !optional)
    .map(([name, { version }]) => `${name}@${version}`)
    .sort()
    .join('\n')
}

/** Build the addon with index.js and index.d.ts into a folder (the project's own unless another is given). */
export function build({ release, into = root }) {
  checkRust()
  say(`Building the addon (${release ? 'release' : 'debug'})`)
  const napi = path.join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js')
  const pipe = `node ${path.join('scripts', 'generate.mjs')}`
  const args = [napi, 'build', '--platform', '--output-dir', into, '--pipe', pipe]
  if (release) args.push('--release')
  args.push('--', '--locked')
  run(process.execPath, args, { what: 'the build' })
}
