// npm run package [-- --artifacts DIR [--all]]: everything that is published, as tarballs in dist/.
//
// Without --artifacts every binary that this machine can build is built and packed, and of the others it is said why
// they cannot. With it, each harnery-native.<platform>.node in DIR gets its package; --all: every platform must be
// there. The root package names exactly the platforms that were packed.

import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { binaryOf, buildPlatform, platforms, whyNot } from './build-platform.mjs'
import { checkBinary } from './check-binary.mjs'
import { fail, root, run, say } from './prepare.mjs'

const { values } = parseArgs({ options: { artifacts: { type: 'string' }, all: { type: 'boolean' } } })
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
for (const name of missing) console.log(`  not ${name}: ${values.artifacts ? `${artifacts} has no ${binaryOf(name)}` : whyNot(name)}`)

/** Build what can be built here; answers the folder of the binaries. */
function buildHere() {
  const into = path.join(dist, 'artifacts')
  mkdirSync(into)
  for (const name of Object.keys(platforms).filter((name) => !whyNot(name))) buildPlatform(name, into)
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
  for (const name of [...manifest.files, 'README.md', 'LICENSE']) {
    cpSync(path.join(root, name), path.join(folder, name), { recursive: true })
  }
  const { main, types, bin, exports, files } = manifest
  const optionalDependencies = Object.fromEntries(packed.map((name) => [`${manifest.name}-${name}`, manifest.version]))
  writeManifest(folder, { ...shared(manifest.name), main, types, bin, exports, files, optionalDependencies })
  return folder
}

/** No scripts, no development dependencies: an install runs nothing. */
function shared(name) {
  const { version, description, license, engines } = manifest
  return { name, version, description, license, repository: repository(), engines }
}

/** Provenance wants to know where the packages come from: in a workflow, the repository that it runs in. */
function repository() {
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env
  return GITHUB_REPOSITORY && { type: 'git', url: `git+${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.git` }
}

function writeManifest(folder, content) {
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
}

function pack(folder) {
  run('npm', ['pack', folder, '--pack-destination', dist, '--loglevel=error'])
}
