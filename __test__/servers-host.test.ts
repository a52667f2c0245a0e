import { statSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  configureHost,
  listServers,
  readServerRecords,
  type RegisterServerInput,
  registerServer,
  type ServerRecord,
  serversDir,
} from '../index.js'
import { planted, Project } from './support/project.js'

let project: Project
let coordRoot: string

beforeEach(() => {
  project = new Project()
  coordRoot = project.root
})

afterEach(async () => {
  configureHost(null)
  await project.remove()
})

const input: RegisterServerInput = { id: 'a', kind: 'session', type: 'preview' }
const wrong = (value: unknown) => value as never

describe('the host', () => {
  it('answers who calls, where, how agents are and who shares', () => {
    const asked: unknown[] = []
    const host = {
      resolveCoordRoot() {
        asked.push(['root', this])
        return coordRoot
      },
      callingOwner(root: string) {
        asked.push(['owner', this, root])
        return { instance_id: 'agent', name: 'Agent' }
      },
      ownerStates(root: string, stale: number, now: number) {
        asked.push(['states', this, root, stale, now])
        return (id: string) => (id === 'agent' ? ('ended' as const) : ('live' as const))
      },
      sharing: () => 'group' as const,
    }
    configureHost(host)
    expect(registerServer(input)).toMatchObject({ owner: { instance_id: 'agent', name: 'Agent' } })
    expect(statSync(project.file('a')).mode & 0o777).toBe(0o660)
    expect(statSync(serversDir(coordRoot)).mode & 0o777).toBe(0o770)
    const now = new Date()
    expect(listServers({ now, ownerStaleHours: 2 }).servers[0]?.owner_state).toBe('ended')
    expect(asked).toEqual([
      ['root', host],
      ['owner', host, coordRoot],
      ['root', host],
      ['states', host, coordRoot, 7_200_000, now.getTime()],
    ])
  })

  it('that throws cannot say', () => {
    const fail = (): never => {
      throw new Error('cannot say')
    }
    configureHost({ resolveCoordRoot: fail, callingOwner: fail, ownerStates: fail, sharing: fail })
    expect(registerServer(input)).toBeNull()
    const record = registerServer(input, { coordRoot }) as ServerRecord
    expect(record.owner).toBeUndefined()
    project.plant('b', planted('b', process.pid, { owner: { instance_id: 'x' } }))
    expect(listServers({ coordRoot }).servers.map((server) => server.owner_state)).toEqual(['none', 'unknown'])
    configureHost({ ownerStates: () => wrong(() => 'excellent') })
    expect(listServers({ coordRoot }).servers[1]?.owner_state).toBe('unknown')
  })

  it('is asked only while it is configured, and may call back', () => {
    configureHost({ callingOwner: () => ({ instance_id: String(readServerRecords({ coordRoot }).length) }) })
    expect(registerServer(input, { coordRoot })?.owner).toEqual({ instance_id: '0' })
    configureHost(null)
    expect(registerServer(input, { coordRoot })?.owner).toBeUndefined()
    expect(() => configureHost({ sharing: wrong('group') })).toThrow('host.sharing must be a function, not a string')
    expect(() => configureHost(wrong(undefined))).toThrow(TypeError)
  })

  it('without one the environment names the owner, unless a bridge is set', () => {
    process.env['HARNERY_AGENT_COORD_OWNER'] = 'agent'
    try {
      expect(registerServer(input, { coordRoot })?.owner).toEqual({ instance_id: 'agent' })
      process.env['HARNERY_AGENT_COORD_BRIDGE'] = 'x'
      expect(registerServer(input, { coordRoot })?.owner).toBeUndefined()
    } finally {
      delete process.env['HARNERY_AGENT_COORD_OWNER']
      delete process.env['HARNERY_AGENT_COORD_BRIDGE']
    }
  })
})
