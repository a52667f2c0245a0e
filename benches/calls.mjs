// The system calls of an operation: as strace shows them now, or as the committed list has them.

import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { record, shape } from './strace.mjs'

const here = path.dirname(fileURLToPath(import.meta.url))

/**
 * `name` is of benches/traced/<name>.mjs, which does the operation in `dir` as the other words say, and together with
 * them of benches/<name>.calls.
 */
export function calls(script, dir, what, words = []) {
  const name = [script, ...words].join('-')
  const committed = path.join(here, `${name}.calls`)
  const now = record(path.join(here, 'traced', `${script}.mjs`), dir, words)
  if (now !== null && process.env.HARNERY_BENCH_RECORD) {
    writeFileSync(committed, `# ${what}. Written with HARNERY_BENCH_RECORD=1 npm run bench -- ${script}.\n${now}`)
  }
  const known = readFileSync(committed, 'utf8')
  if (now === null) return { list: known, notes: [`strace cannot be used here: replaying benches/${name}.calls`] }
  const same = shape(now).join() === shape(known).join()
  const note = same
    ? `replaying what strace shows, which is what benches/${name}.calls lists`
    : `replaying what strace shows; benches/${name}.calls lists something else (HARNERY_BENCH_RECORD=1 renews it)`
  return { list: now, notes: [note] }
}

/** One operation's calls in words. */
export function counted(list) {
  const names = shape(list)
  const counts = new Map()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const tally = [...counts].map(([name, count]) => (count === 1 ? name : `${count} ${name}`)).join(', ')
  return `${names.length} system calls: ${tally}`
}
