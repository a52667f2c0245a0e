// Jest runs tests in a realm of its own, so an error that comes from outside it (Node's own as well as this addon's) is
// no `instanceof Error` there. This environment shares the classes that the addon's values are made of.
'use strict'

const { TestEnvironment } = require('jest-environment-node')

const SHARED = ['Error', 'TypeError', 'RangeError', 'Map', 'Set', 'Date', 'Promise']

module.exports = class HarneryNativeEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context)
    for (const name of SHARED) this.global[name] = globalThis[name]
  }
}
