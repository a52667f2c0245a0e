// Measures each case beside its reference: one run, in turns, warm.
//
// A case is an object:
//   name, what       how it is called, and one line on what is measured
//   limit            the most that ours may be: { ratio } of the reference's, or { ms }
//   setup()          resolves with { ours, reference, notes?, end? }; both are (rounds) => nanoseconds | Promise
//   samples, rounds  how many samples (20) of how many rounds (as many as take about 5 ms)

const SAMPLE_NS = 5e6
const SAMPLES = 20
const WARM_NS = 200e6

/** A function as one side of a case. */
export function timed(work) {
  return (rounds) => {
    const start = process.hrtime.bigint()
    for (let round = 0; round < rounds; round++) work()
    return Number(process.hrtime.bigint() - start)
  }
}

export async function measure(bench) {
  const { ours, reference, notes = [], end = () => {} } = await bench.setup()
  try {
    const sides = { ours: await warm(ours, bench), reference: await warm(reference, bench) }
    const times = { ours: [], reference: [] }
    for (let sample = 0; sample < (bench.samples ?? SAMPLES); sample++) {
      // Each goes first every other time.
      const order = sample % 2 === 0 ? ['ours', 'reference'] : ['reference', 'ours']
      for (const side of order) {
        const { run, rounds } = sides[side]
        times[side].push((await run(rounds)) / rounds)
      }
    }
    // Each sample against the one right beside it: what else the machine does meanwhile weighs on both.
    const ratios = times.ours.map((time, index) => time / times.reference[index])
    return judged(bench, summary(times.ours), summary(times.reference), summary(ratios).median, notes)
  } finally {
    await end()
  }
}

/** Run it until it is warm, and find how many rounds make a sample. */
async function warm(run, bench) {
  if (bench.rounds) {
    await run(bench.rounds)
    return { run, rounds: bench.rounds }
  }
  let rounds = 1
  for (let spent = 0; spent < WARM_NS; ) {
    const took = await run(rounds)
    spent += took
    if (took < SAMPLE_NS) rounds = Math.max(rounds, Math.ceil((rounds * SAMPLE_NS) / Math.max(took, 1000)))
  }
  return { run, rounds }
}

function summary(times) {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
  return { median: at(0.5), low: at(0.1), high: at(0.9), samples: sorted.length }
}

function judged(bench, ours, reference, ratio, notes) {
  const { limit } = bench
  const met = limit.ratio !== undefined ? ratio <= limit.ratio : ours.median <= limit.ms * 1e6
  return { name: bench.name, what: bench.what, unit: 'ns', ours, reference, ratio, limit, met, notes }
}

export function table(results) {
  const rows = results.map(({ name, ours, reference, ratio, limit, met }) => [
    name,
    `${time(ours.median)} (${time(ours.low)} … ${time(ours.high)})`,
    `${time(reference.median)} (${time(reference.low)} … ${time(reference.high)})`,
    times(ratio),
    limit.ratio !== undefined ? `≤ ${times(limit.ratio)}` : `≤ ${limit.ms} ms`,
    met ? 'met' : 'NOT MET',
  ])
  const all = [['case', 'ours: median (10 % … 90 %)', 'reference', 'ratio', 'limit', ''], ...rows]
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)))
  return all.map((row) => row.map((cell, column) => cell.padEnd(widths[column])).join('  ').trimEnd()).join('\n')
}

function times(ratio) {
  return ratio >= 0.995 ? `${ratio.toFixed(2)} ×` : `1/${(1 / ratio).toFixed(1)}`
}

function time(ns) {
  if (ns >= 1e6) return `${(ns / 1e6).toFixed(2)} ms`
  if (ns >= 1e3) return `${(ns / 1e3).toFixed(2)} µs`
  return `${ns.toFixed(0)} ns`
}
