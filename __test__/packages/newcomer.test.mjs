// The README's first page, with the packages, from an empty folder: a server registered, listed and stopped.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

import { environment, expectRun, folder, root, row, tarballsHere } from './world.mjs'

test('somebody who knows only Node has a server of their own registered, listed and stopped', async () => {
  const start = performance.now()
  const [, page] = readFileSync(path.join(root, 'README.md'), 'utf8').split('\n## A server of your own')
  const programs = [...page.split('\n## ')[0].matchAll(/```js\n\/\/ (\S+)\n([^]*?)```/g)]
  assert.equal(programs.length, 3)
  const at = folder('newcomer', Object.fromEntries(programs.map(([, name, text]) => [name, text])))
  expectRun('npm', ['init', '-y'], { cwd: at })
  const { main, platform } = tarballsHere()
  expectRun('npm', ['install', platform, main, '--offline', '--loglevel=error'], { cwd: at })

  const server = spawn(process.execPath, ['server.mjs'], { cwd: at, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [said] = await once(server.stdout, 'data')
    const [, pid, port] = /^hello is process (\d+) on port (\d+)\n$/.exec(said)
    assert.equal(Number(pid), server.pid)
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'hello\n')
    const list = () => expectRun(process.execPath, ['list.mjs'], { cwd: at })
    assert.match(list(), new RegExp(`^hello is running on port ${port} with \\d+ connections\n$`))
    assert.match(expectRun('npx', ['--offline', 'harnery-native', 'inspect', '.'], { cwd: at }), /id: hello\n    state: running\n/)
    const ended = once(server, 'exit')
    assert.equal(expectRun(process.execPath, ['stop.mjs'], { cwd: at }), "{ id: 'hello', stopped: true, method: 'signal' }\n")
    assert.deepEqual(await ended, [null, 'SIGTERM'])
    assert.equal(list(), '')
  } finally {
    server.kill('SIGKILL')
  }
  row("the README's first page", `Node ${process.versions.node}`, `${((performance.now() - start) / 1000).toFixed(1)} s (<= 5 min)`)
})
