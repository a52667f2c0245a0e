import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

it.each([
  ['history.mjs', "read 101 whole records, each writer's in its order"],
  ['resume.mjs', 'the run can be resumed again'],
])('examples/%s runs and says what it shows', (example, last) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`examples/${example}`], { cwd: root, encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  expect(stdout.trim().split('\n').at(-1)).toBe(last)
})
