// npm run build [-- --debug]: build the addon, index.js, index.d.ts, compat/ and docs/api in place.

import { build, installPackages, run } from './prepare.mjs'

installPackages()
build({ release: !process.argv.includes('--debug') })
run(process.execPath, ['scripts/compat.mjs'])
run(process.execPath, ['scripts/docs.mjs'])
