// npm run package [-- --artifacts DIR [--all]]: everything that is published, as tarballs in dist/.
//
// Without --artifacts the binary of this machine is built, against an old glibc, and it alone is packed. With it, each
// harnery-native.<platform>.node in DIR gets its package; --all: every platform must be there. The root package names
// exactly the platforms that were packed.

import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { checkBinary } from './check-binary.mjs'
import { fail, installPackages, root, run, say } from './prepare.mjs'

const { values } = parseArgs({ options: { artifacts: { type: 'string' }, all: { type: 'boolean' } } })
const platforms = JSON.parse(readFileSync(path.join(root, 'platforms.json'), 'utf8'))
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const dist = path.join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
mkdirSync(path.join(dist, 'packages'), { recursive: true })
const artifacts = values.artifacts ? path.resolve(values.artifacts) : buildHere()
const packed = Object.keys(platforms).filter((name) => existsSync(path.join(artifacts, binaryOf(name))))
const missing = Object.keys(platforms).filter((name) => !packed.includes(name))
if (values.all && missing.length > 0) fail(`${artifacts} lacks the binaries for ${missing.join(', ')}`)
if (packed.length === 0) fail(`${artifacts} holds no harnery-native.<platform>.node`)
for (const name of packed) pack(platformPackage(name))
pack(rootPackage(packed))
say(`In dist/: ${readdirSync(dist).filter((name) => name.endsWith('.tgz')).join(', ')}`)

function binaryOf(platform) {
  return `harnery-native.${platform}.node`
}

/** Build for this machine, so that every Linux since glibc 2.17 loads it. */
function buildHere() {
  installPackages()
  const here = Object.keys(platforms).find((name) => {
    const { os, cpu, libc } = platforms[name]
    return os === process.platform && cpu === process.arch && (os !== 'linux' || libc === 'glibc')
  })
  if (!here) fail(`${process.platform}-${process.arch} is not among the supported platforms`)
  const into = path.join(dist, 'artifacts')
  mkdirSync(into)
  const napi = path.join(root, 'node_modules', '@napi-rs', 'cli', 'dist', 'cli.js')
  const target = platforms[here].target
  const args = [napi, 'build', '--platform', '--release', '--target', target, '--output-dir', into, '--no-js']
  if (process.platform === 'linux') args.push('--use-napi-cross')
  say(`Building the release binary for ${here}`)
  run(process.execPath, args, { what: 'the release build' })
  return into
}

function platformPackage(platform) {
  const { os, cpu, libc, text } = platforms[platform]
  const binary = binaryOf(platform)
  checkBinary(path.join(artifacts, binary), platform)
  const name = `${manifest.name}-${platform}`
  const folder = path.join(dist, 'packages', name)
  mkdirSync(folder)
  cpSync(path.join(artifacts, binary), path.join(folder, binary))
  cpSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
  writeFileSync(path.join(folder, 'README.md'), `# ${name}\n\nThe binary of \`${manifest.name}\` for ${text}. Install \`${manifest.name}\`, which brings it.\n`)
  writeManifest(folder, { ...shared(name), main: binary, files: [binary], os: [os], cpu: [cpu], ...(libc ? { libc: [libc] } : {}) })
  return folder
}

function rootPackage(packed) {
  const folder = path.join(dist, 'packages', manifest.name)
  mkdirSync(folder)
  for (const name of [...manifest.files, 'README.md', 'CHANGELOG.md', 'LICENSE']) {
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true })
  }
  const { main, types, bin, exports, files } = manifest
  const optionalDependencies = Object.fromEntries(packed.map((name) => [`${manifest.name}-${name}`, manifest.version]))
  writeManifest(folder, { ...shared(manifest.name), main, types, bin, exports, files, optionalDependencies })
  return folder
}

/** No scripts, no development dependencies: an install runs nothing. */
function shared(name) {
  const { version, description, license, repository, engines } = manifest
  return { name, version, description, license, repository, engines }
}

function writeManifest(folder, content) {
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
}

function pack(folder) {
  run('npm', ['pack', folder, '--pack-destination', dist, '--loglevel=error'])
}
