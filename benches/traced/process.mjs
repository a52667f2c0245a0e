// Run under strace: one question about this process after the other, the one that is named, each between marks.

import * as native from '../../index.js'
import { traced } from '../strace.mjs'

const ask = native[process.argv[3]]
traced(() => ask(process.pid))
