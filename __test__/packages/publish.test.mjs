// What npm is asked to publish, and under which name a user gets it.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { publishArguments } from '../../scripts/publish.mjs'
import { root } from './world.mjs'

test('a release is the default that an install gets', () => {
  assert.deepEqual(publishArguments('1.2.3', 'a.tgz'), ['publish', '--access', 'public', 'a.tgz'])
  assert.deepEqual(publishArguments('1.2.3', 'a.tgz', { provenance: true }), ['publish', '--provenance', '--access', 'public', 'a.tgz'])
})

test('a version before a release is published as next, and never becomes the default', () => {
  assert.deepEqual(publishArguments('0.2.0-rc.1', 'a.tgz', { provenance: true }), ['publish', '--provenance', '--access', 'public', '--tag', 'next', 'a.tgz'])
})

test('the workflow can publish a package that has no trusted publisher yet', () => {
  const [, publish] = readFileSync(path.join(root, '.github', 'workflows', 'release.yml'), 'utf8').split(/^  publish:$/m)
  assert.match(publish, /registry-url: https:\/\/registry\.npmjs\.org\n/)
  assert.match(publish, /publish\.mjs --provenance\n\s+env:\n(?:\s+#.*\n)*\s+NODE_AUTH_TOKEN: \$\{\{ secrets\.NPM_TOKEN \}\}/)
})
