import { canonicalJson, stableDigest } from '../../index.js'
import { same } from './same.js'

same<typeof canonicalJson, (value: unknown) => string>(true)
same<typeof stableDigest, (value: unknown) => string>(true)
