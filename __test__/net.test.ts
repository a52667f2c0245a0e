import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  establishedConnectionCounts,
  listListeners,
  listListeningPorts,
  listListeningSockets,
  parseLsofListen,
  parseProcNetTcp,
  scanSupport,
} from '../index.js'

const endings: (() => unknown)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function listen(address: string, port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(port, address)
  await once(server, 'listening')
  endings.push(() => server.listening && close(server))
  return { server, port: (server.address() as AddressInfo).port }
}

async function close(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}

async function connected(server: Server, port: number): Promise<void> {
  const client = connect(port, '127.0.0.1')
  const [accepted] = await once(server, 'connection')
  endings.push(async () => {
    accepted.destroy()
    client.destroy()
    await once(client, 'close')
  })
}

/** A process that is killed when the test is over. */
function ended(child: ChildProcess): ChildProcess {
  endings.push(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  return child
}

/** A process that runs this script until the test is over, and the first line that it writes. */
async function running(script: string): Promise<{ child: ChildProcess; line: string }> {
  const child = ended(spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] }))
  const [line] = await once(child.stdout!, 'data')
  return { child, line: String(line).trim() }
}

it('Linux is looked at by its own lists', () => {
  expect(scanSupport()).toBe('procfs')
})

describe('a listening socket', () => {
  it('has pid, port and address', async () => {
    const { port } = await listen('127.0.0.1')
    const mine = listListeningSockets().filter((socket) => socket.port === port)
    expect(mine).toStrictEqual([{ pid: process.pid, port, address: '127.0.0.1' }])
  })

  it('is listed in full with family, inode, user and every owner', async () => {
    const { port } = await listen('::1')
    const mine = listListeners().filter((listener) => listener.port === port)
    expect(mine).toStrictEqual([
      { port, address: '::1', family: 'tcp6', inode: expect.any(Number), uid: process.getuid!(), pids: [process.pid] },
    ])
    expect(mine[0].inode).toBeGreaterThan(0)
  })

  it('is gone when it is closed', async () => {
    const { server, port } = await listen('0.0.0.0')
    expect(listListeningPorts()).toBeInstanceOf(Set)
    expect(listListeningPorts().has(port)).toBe(true)
    await close(server)
    expect(listListeningPorts().has(port)).toBe(false)
    expect(listListeners().some((listener) => listener.port === port)).toBe(false)
  })

  it('of another process is listed with that process', async () => {
    const { child, line } = await running(
      `const s = require('net').createServer().listen(0, '127.0.0.1', () => console.log(s.address().port))`,
    )
    const sockets = listListeningSockets().filter((socket) => socket.port === Number(line))
    expect(sockets).toStrictEqual([{ pid: child.pid, port: Number(line), address: '127.0.0.1' }])
  })

  it('r4: that is shared by workers has every one of them, the lowest in the short list', async () => {
    const { server, port } = await listen('127.0.0.1')
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle
    const workers = [1, 2, 3].map(() => ended(spawn('sleep', ['600'], { stdio: [fd, 'ignore', 'ignore'] })))
    const holders = [process.pid, ...workers.map((worker) => worker.pid!)].sort((a, b) => a - b)
    const [listener] = listListeners().filter((listener) => listener.port === port)
    expect(listener.pids).toEqual(holders)
    const sockets = listListeningSockets().filter((socket) => socket.port === port)
    expect(sockets).toStrictEqual([{ pid: holders[0], port, address: '127.0.0.1' }])
  })
})

describe('established connections', () => {
  it('are counted on the side of the server, without an entry for a port that has none', async () => {
    const busy = await listen('127.0.0.1')
    const idle = await listen('127.0.0.1')
    for (let count = 0; count < 3; count++) await connected(busy.server, busy.port)
    const counts = establishedConnectionCounts([busy.port, idle.port])
    expect(counts).toStrictEqual(new Map([[busy.port, 3]]))
    expect(establishedConnectionCounts([])).toStrictEqual(new Map())
  })

  it.each([
    [undefined, TypeError, 'ports must be an array, not undefined'],
    [new Set([80]), TypeError, 'ports must be an array, not an object'],
    [[80, '81'], TypeError, 'ports[1] must be a number, not a string'],
    [[0], RangeError, 'ports[0] must be a port from 1 to 65535, not 0'],
    [[65536], RangeError, 'ports[0] must be a port from 1 to 65535, not 65536'],
    [[80.5], RangeError, 'ports[0] must be a port from 1 to 65535, not 80.5'],
    [[Number.NaN], RangeError, 'ports[0] must be a port from 1 to 65535, not NaN'],
  ])('of %o are refused by name', (ports, kind, message) => {
    const ask = () => establishedConnectionCounts(ports as number[])
    expect(ask).toThrow(kind)
    expect(ask).toThrow(message)
  })
})

describe('the text of /proc/net/tcp', () => {
  const heading = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
  const row = (local: string, state: string, inode: string) =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0 100 0 0 10 0\n`

  it('gives its rows in the harness’s form', () => {
    const text = heading + row('0100007F:1F90', '0A', '31337') + row('B80D0120000000000000000001000000:0050', '01', '0')
    expect(parseProcNetTcp(text)).toStrictEqual([
      { localAddress: '127.0.0.1', localPort: 8080, state: '0A', inode: '31337' },
      { localAddress: 'ipv6:b80d0120000000000000000001000000', localPort: 80, state: '01', inode: '0' },
    ])
  })

  it('gives nothing for what is no such text', () => {
    for (const text of ['', heading, '\n\n', 'x'.repeat(10_000), `${heading}\ud800 \0 1 2 3 4 5 6 7 8 9\n`]) {
      expect(parseProcNetTcp(text)).toStrictEqual([])
    }
    expect(() => parseProcNetTcp(undefined as unknown as string)).toThrow('text must be a string, not undefined')
  })

  it('of this machine has the sockets that are listed', async () => {
    const { port } = await listen('127.0.0.1')
    const rows = parseProcNetTcp(readFileSync('/proc/net/tcp', 'utf8'))
    const [row] = rows.filter((row) => row.localPort === port && row.state === '0A')
    const [listener] = listListeners().filter((listener) => listener.port === port)
    expect(row).toStrictEqual({ localAddress: '127.0.0.1', localPort: port, state: '0A', inode: String(listener.inode) })
  })
})

describe('what lsof writes', () => {
  it('gives listening sockets, sorted by port, one per pid and port', () => {
    const text = 'p20\nf3\nn*:9000\nf4\nn[::1]:8000\np7\nf5\nn127.0.0.1:9000\nf6\nn[::1]:9000\n'
    expect(parseLsofListen(text)).toStrictEqual([
      { pid: 20, port: 8000, address: '::1' },
      { pid: 20, port: 9000, address: '*' },
      { pid: 7, port: 9000, address: '127.0.0.1' },
    ])
  })

  it('gives nothing for odd text', () => {
    for (const text of ['', 'n*:80', 'px\nn*:80\n', 'p7\nn*:http\n', 'p7\nn80\n']) {
      expect(parseLsofListen(text)).toStrictEqual([])
    }
    expect(() => parseLsofListen(7 as unknown as string)).toThrow('text must be a string, not a number')
  })
})
