// npm run quickstart: install and build what is missing, then show the addon at work on real processes.

import path from 'node:path'
import { build, installPackages, run } from './prepare.mjs'

installPackages()
build({ release: true })
run(process.execPath, [path.join('examples', 'quickstart.mjs')], { what: 'the quickstart' })
