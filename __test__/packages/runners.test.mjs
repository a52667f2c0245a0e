// A harness's own tests over the installed package, by Vitest and by Jest, as ES modules and as CommonJS.

import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'

import { HARNESS, TESTS, asCommonJs, suite } from './harness.mjs'
import { environment, expectRun, folder, row, tarballsHere, versionOf } from './world.mjs'

const NAMES = '{ inFolder, lock, counts, stopGone }'

function project(name, manifest, files) {
  const at = folder(name, { 'package.json': { private: true, ...manifest }, 'harness.mjs': HARNESS, 'harness.cjs': asCommonJs(HARNESS), ...files })
  const { main, platform } = tarballsHere()
  expectRun('npm', ['install', platform, main, '--loglevel=error'], { cwd: at, env: { ...process.env, npm_config_audit: 'false', npm_config_fund: 'false' } })
  return at
}

test('Vitest, in forks and in threads', () => {
  const at = project('with-vitest', { type: 'module', devDependencies: { vitest: '4.1.12' } }, {
    'esm.test.mjs': suite(`import { expect, test } from 'vitest'\nimport ${NAMES} from './harness.mjs'`),
    'cjs.test.mjs': suite(`import { expect, test } from 'vitest'\nimport { createRequire } from 'node:module'\nconst ${NAMES} = createRequire(import.meta.url)('./harness.cjs')`),
  })
  const vitest = path.join(at, 'node_modules', 'vitest', 'vitest.mjs')
  for (const pool of ['forks', 'threads']) {
    const said = expectRun(process.execPath, [vitest, 'run', '--pool', pool], { cwd: at, env: plain() })
    assert.match(said, new RegExp(`${2 * TESTS} passed`))
    row(`Vitest, ${pool}: ESM, CommonJS`, versionOf('Vitest', path.join(at, 'node_modules', '.bin', 'vitest')))
  }
})

test('Jest, with the environment of the package', () => {
  const at = project('with-jest', { devDependencies: { jest: '30.5.2' } }, {
    'jest.config.cjs': "module.exports = { testEnvironment: 'harnery-native/jest-environment', testMatch: ['**/*.test.cjs', '**/*.test.mjs'], moduleFileExtensions: ['js', 'cjs', 'mjs'], transform: {}, watchman: false }\n",
    'cjs.test.cjs': suite(`const ${NAMES} = require('./harness.cjs')`),
    'esm.test.mjs': suite(`import ${NAMES} from './harness.mjs'`),
  })
  const jest = path.join(at, 'node_modules', 'jest', 'bin', 'jest.js')
  expectRun(process.execPath, ['--experimental-vm-modules', jest, '--ci', '--json', '--outputFile=result.json'], { cwd: at, env: plain() })
  const counted = JSON.parse(expectRun(process.execPath, ['-p', "const { numPassedTests, numTotalTests } = require('./result.json'); JSON.stringify({ numPassedTests, numTotalTests })"], { cwd: at }))
  assert.deepEqual(counted, { numPassedTests: 2 * TESTS, numTotalTests: 2 * TESTS })
  row('Jest: ESM, CommonJS', versionOf('Jest', path.join(at, 'node_modules', '.bin', 'jest')))
})

/** Without colours, and without what the runner of these tests tells its own children. */
function plain() {
  return { ...environment(), NO_COLOR: '1' }
}
