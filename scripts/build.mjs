// npm run build [-- --debug]: build the addon, index.js, index.d.ts and compat/ in place.

import { build, installPackages, run } from './prepare.mjs'

installPackages()
build({ release: !process.argv.includes('--debug') })
run(process.execPath, ['scripts/compat.mjs'])
