// node scripts/build-platform.mjs PLATFORM DIRECTORY: the release binary of a platform, as it is published.

import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

import { checkBinary } from './check-binary.mjs'
import { checkRust, fail, installPackages, root, run, say } from './prepare.mjs'

export const platforms = JSON.parse(readFileSync(path.join(root, 'platforms.json'), 'utf8'))

/** The platform that an npm package brings a toolchain with an old glibc for; zig is for the other Linuxes. */
const OWN_TOOLCHAIN = 'linux-x64-gnu'

export function binaryOf(platform) {
  return `harnery-native.${platform}.node`
}

/** Why this machine cannot build for a platform; undefined where it can. */
export function whyNot(platform) {
  const { os, libc, target } = platforms[platform]
  if (os === 'darwin' && process.platform !== 'darwin') return "Apple's linker and libraries are on macOS only"
  if (os === 'linux' && process.platform !== 'linux') return 'it is built on Linux'
  if (!hasStandardLibrary(target)) return `Rust's standard library for it is missing (rustup target add ${target})`
  if (os === 'linux' && platform !== OWN_TOOLCHAIN && !runs('cargo-zigbuild')) return 'cargo-zigbuild is missing (pip install ziglang cargo-zigbuild, in an environment of its own: python3 -m venv)'
  if (platform === OWN_TOOLCHAIN && process.arch !== 'x64') return 'the toolchain with the old glibc is for x64'
  return undefined
}

/** Build into a folder; for glibc against 2.17 or older. */
export function buildPlatform(platform, into) {
  if (!(platform in platforms)) fail(`There is no platform ${platform}; the platforms are ${Object.keys(platforms).join(', ')}`)
  checkRust()
  const reason = whyNot(platform)
  if (reason) fail(`${platform} cannot be built here: ${reason}`)
  installPackages()
  mkdirSync(into, { recursive: true })
  const napi = path.join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js')
  say(`Building the release binary for ${platform}`)
  const args = [napi, 'build', '--platform', '--release', '--output-dir', into, '--no-js', ...toolchain(platform)]
  run(process.execPath, [...args, '--', '--locked'], { what: `the release build for ${platform}` })
  checkBinary(path.join(into, binaryOf(platform)), platform)
}

function toolchain(platform) {
  const { os, libc, target } = platforms[platform]
  if (platform === OWN_TOOLCHAIN) return ['--target', target, '--use-napi-cross']
  if (os === 'linux') return ['--target', libc === 'glibc' ? `${target}.2.17` : target, '--cross-compile']
  return ['--target', target]
}

function hasStandardLibrary(target) {
  const { stdout } = spawnSync('rustc', ['--print', 'target-libdir', '--target', target], { encoding: 'utf8' })
  const folder = stdout?.trim()
  return Boolean(folder) && existsSync(folder) && readdirSync(folder).some((name) => name.startsWith('libstd-'))
}

function runs(program) {
  return spawnSync(program, ['--version']).status === 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildPlatform(process.argv[2], path.resolve(process.argv[3] ?? 'artifacts'))
