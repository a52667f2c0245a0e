// Generated from compat/layout.json; do not edit.

export { ancestry, establishedConnectionCounts, listListeningPorts, listListeningSockets, parseLsofListen, parseProcNetTcp, readProcessInfo, scanSupport } from '../../../index.js'
export type { ListeningSocket, ProcessInfo, ScanSupport } from '../../../index.js'
