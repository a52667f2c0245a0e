// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js').custody

module.exports.SERVER_DEFAULT_IDLE_HOURS = native.SERVER_DEFAULT_IDLE_HOURS
module.exports.SERVER_DEFAULT_OWNER_STALE_HOURS = native.SERVER_DEFAULT_OWNER_STALE_HOURS
module.exports.SERVER_RECORD_SCHEMA_VERSION = native.SERVER_RECORD_SCHEMA_VERSION
module.exports.acquireNoClobberLease = native.acquireNoClobberLease
module.exports.adoptServer = native.adoptServer
module.exports.allocateServerPort = native.allocateServerPort
module.exports.ancestry = native.ancestry
module.exports.configureHost = native.configureHost
module.exports.createServerToucher = native.createServerToucher
module.exports.createTunnelReadinessVerifier = native.createTunnelReadinessVerifier
module.exports.ensureServersDir = native.ensureServersDir
module.exports.establishedConnectionCounts = native.establishedConnectionCounts
module.exports.findUnregisteredListeners = native.findUnregisteredListeners
module.exports.isValidServerId = native.isValidServerId
module.exports.listListeners = native.listListeners
module.exports.listListeningPorts = native.listListeningPorts
module.exports.listListeningSockets = native.listListeningSockets
module.exports.listServers = native.listServers
module.exports.parseLsofListen = native.parseLsofListen
module.exports.parseProcNetTcp = native.parseProcNetTcp
module.exports.planServerGc = native.planServerGc
module.exports.processStartToken = native.processStartToken
module.exports.readProcessInfo = native.readProcessInfo
module.exports.readServer = native.readServer
module.exports.readServerRecords = native.readServerRecords
module.exports.registerServer = native.registerServer
module.exports.scanSupport = native.scanSupport
module.exports.serverGcConfig = native.serverGcConfig
module.exports.serverId = native.serverId
module.exports.serverPortRange = native.serverPortRange
module.exports.serverState = native.serverState
module.exports.serversDir = native.serversDir
module.exports.signalIfSameGeneration = native.signalIfSameGeneration
module.exports.stopServer = native.stopServer
module.exports.touchServer = native.touchServer
module.exports.tryRegisterServer = native.tryRegisterServer
module.exports.tunnelServerId = native.tunnelServerId
module.exports.tunnelServerInput = native.tunnelServerInput
module.exports.unregisterServer = native.unregisterServer
module.exports.verifyProcessGeneration = native.verifyProcessGeneration
module.exports.withServerRegistrationCustody = native.withServerRegistrationCustody
