import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * How much the resident size grows, in MiB, while `body` runs in a process of its own, after a tenth of it as warm-up.
 *
 * `body` is the text of an async function of `(native, times, turn)` that does its work `times` times and awaits
 * `turn()` now and then: finalizers run on turns of the event loop only.
 */
export function residentGrowth(times: number, body: string): number {
  const script = `
    const native = require('./index.js')
    const turn = () => new Promise(setImmediate)
    const work = async (times) => { ${body} }
    const resident = () => { gc(); return process.memoryUsage().rss / 2 ** 20 }
    work(times(0.1)).then(turn).then(async () => {
      const before = resident()
      await work(times(1))
      await turn()
      process.stdout.write(String(resident() - before))
    })
    function times(part) { return Math.ceil(${times} * part) }
  `
  const printed = execFileSync(process.execPath, ['--expose-gc', '-e', script], { cwd: root, encoding: 'utf8' })
  return Number(printed)
}
