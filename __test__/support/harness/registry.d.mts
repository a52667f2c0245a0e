import type { RegisterServerInput, ServerRecord } from '../../../index.js'

interface Root {
  coordRoot: string
}

export function serversDir(coordRoot: string): string
export function serverId(type: string, scope?: string): string
export function registerServer(input: RegisterServerInput, options: Root): ServerRecord
export function unregisterServer(id: string, options: Root & { pid?: number }): boolean
export function touchServer(id: string, options: Root & { now?: Date }): void
export function readServer(id: string, options: Root): ServerRecord | null
export function readServerRecords(options: Root): ServerRecord[]
export function processStartToken(pid: number): string | null
