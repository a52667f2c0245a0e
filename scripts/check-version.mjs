// node scripts/check-version.mjs [TAG]: one version everywhere; with a tag, the tag's.

import { readFileSync } from 'node:fs'
import path from 'node:path'

import { fail, root } from './prepare.mjs'

const read = (file) => readFileSync(path.join(root, file), 'utf8')
const { version } = JSON.parse(read('package.json'))
const all = {
  'package-lock.json': JSON.parse(read('package-lock.json')).version,
  'Cargo.toml': /^version = "(.*)"$/m.exec(read('Cargo.toml'))?.[1],
  'Cargo.lock': /name = "harnery-native"\nversion = "(.*)"/.exec(read('Cargo.lock'))?.[1],
}
const tag = process.argv[2]
if (tag) all[`the tag ${tag}`] = tag.replace(/^v/, '')
for (const [where, found] of Object.entries(all)) {
  if (found !== version) fail(`package.json has version ${version}, ${where} has ${found}`)
}
console.log(`version ${version} everywhere`)
