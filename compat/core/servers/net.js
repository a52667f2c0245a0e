// Generated from compat/layout.json; do not edit.
'use strict'

const native = require('../../../index.js')

module.exports.ancestry = native.ancestry
module.exports.establishedConnectionCounts = native.establishedConnectionCounts
module.exports.listListeningPorts = native.listListeningPorts
module.exports.listListeningSockets = native.listListeningSockets
module.exports.parseLsofListen = native.parseLsofListen
module.exports.parseProcNetTcp = native.parseProcNetTcp
module.exports.readProcessInfo = native.readProcessInfo
module.exports.scanSupport = native.scanSupport
