// npm run build [-- --debug]: build the addon, index.js and index.d.ts in place.

import { build, installPackages } from './prepare.mjs'

installPackages()
build({ release: !process.argv.includes('--debug') })
