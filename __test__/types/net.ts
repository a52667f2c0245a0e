// The harness's own types, as its sources declare them, and those of index.d.ts are the same; what is beyond them is
// pinned too.

import type * as native from '../../index.js'
import {
  establishedConnectionCounts,
  listListeners,
  listListeningPorts,
  listListeningSockets,
  parseLsofListen,
  parseProcNetTcp,
  scanSupport,
} from '../../index.js'
import { same } from './same.js'

declare namespace harness {
  type ScanSupport = 'procfs' | 'lsof' | 'unsupported'
  interface ListeningSocket {
    pid: number
    port: number
    address: string
  }
  interface ProcSocketRow {
    localAddress: string
    localPort: number
    state: string
    inode: string
  }
}

interface EveryOwner {
  port: number
  address: string
  family: 'tcp' | 'tcp6'
  inode: number
  uid: number
  pids: number[]
}

same<native.ScanSupport, harness.ScanSupport>(true)
same<native.ListeningSocket, harness.ListeningSocket>(true)
same<native.ProcNetTcpRow, harness.ProcSocketRow>(true)
same<native.Listener, EveryOwner>(true)

same<typeof scanSupport, () => harness.ScanSupport>(true)
same<typeof listListeningSockets, () => harness.ListeningSocket[]>(true)
same<typeof listListeningPorts, () => Set<number>>(true)
same<typeof listListeners, () => EveryOwner[]>(true)
same<typeof establishedConnectionCounts, (ports: number[]) => Map<number, number>>(true)
same<typeof parseProcNetTcp, (text: string) => harness.ProcSocketRow[]>(true)
same<typeof parseLsofListen, (text: string) => harness.ListeningSocket[]>(true)

// @ts-expect-error ports are an array
establishedConnectionCounts(80)
// @ts-expect-error text is required
parseProcNetTcp()
