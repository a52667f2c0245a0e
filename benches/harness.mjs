// Measures each case beside its reference: one run, in turns, warm.
//
// A case is an object:
//   name, what       how it is called (`family/case`), and one line on what is measured
//   limit            the most that ours may be: { ratio } of the reference's, { ms }, { over } milliseconds above the
//                    reference's, or { most } of a figure's unit
// and one of these:
//   setup()          resolves with { ours, reference, notes?, end? }; both are (rounds) => nanoseconds | Promise.
//                    samples, rounds: how many samples (20) of how many rounds (as many as take about 5 ms)
//   figure()         resolves with { value, unit, notes? }: something that is counted, not timed
//   growth(size)     resolves with { run, end? } for each of `sizes`; the limit is { slope }: 1 where double the size
//                    costs double, 0 where it costs nothing. `apart`: the sizes one after the other, not in turns

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

/** [`timed`] for what answers with a promise. */
export function timedAsync(work) {
  return async (rounds) => {
    const start = process.hrtime.bigint()
    for (let round = 0; round < rounds; round++) await work()
    return Number(process.hrtime.bigint() - start)
  }
}

export async function measure(bench) {
  if (bench.figure) return measureFigure(bench)
  if (bench.growth) return measureGrowth(bench)
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
  return { median: at(0.5), low: at(0.1), high: at(0.9), p99: at(0.99), samples: sorted.length }
}

function judged({ name, what, limit }, ours, reference, ratio, notes) {
  const most = limit.ratio ?? limit.ms ?? limit.over
  const found =
    limit.ratio !== undefined ? ratio : limit.ms !== undefined ? ours.median / 1e6 : (ours.median - reference.median) / 1e6
  return { name, what, unit: 'ns', ours, reference, ratio, limit, met: found <= most, notes }
}

async function measureFigure({ name, what, limit, figure }) {
  const { value, unit, notes = [] } = await figure()
  return { name, what, unit, value, limit, met: value <= limit.most, notes }
}

async function measureGrowth({ name, what, limit, sizes, growth, apart = false, samples = 15 }) {
  const points = sizes.map((size) => ({ size, times: [] }))
  const sample = async ({ side, times }) => times.push((await side.run(side.rounds)) / side.rounds)
  const begin = async (point) => Object.assign(point, await growth(point.size))
  // In turns, unless one size is in the way of another.
  for (const group of apart ? points.map((point) => [point]) : [points]) {
    for (const point of group) await begin(point)
    try {
      for (const point of group) point.side = await warm(point.run, {})
      for (let turn = 0; turn < samples; turn++) for (const point of group) await sample(point)
    } finally {
      for (const point of group) await point.end?.()
    }
  }
  const measured = points.map(({ size, times }) => ({ size, lowest: Math.min(...times), ...summary(times) }))
  const slope = slopeOf(measured)
  return { name, what, unit: 'ns', points: measured, slope, limit, met: slope <= limit.slope, notes: [] }
}

/** Of the line that fits best when both are drawn logarithmically. The lowest: what else the machine does only adds. */
function slopeOf(points) {
  const x = points.map(({ size }) => Math.log(size))
  const y = points.map(({ lowest }) => Math.log(lowest))
  const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length
  const [mx, my] = [mean(x), mean(y)]
  const up = x.reduce((sum, at, index) => sum + (at - mx) * (y[index] - my), 0)
  return up / x.reduce((sum, at) => sum + (at - mx) ** 2, 0)
}

export function table(results) {
  const rows = results.map((result) => [result.name, ...measured(result), limited(result.limit, result.unit), result.met ? 'met' : 'NOT MET'])
  const all = [['case', 'ours: median (10 % … 90 %)', 'reference', 'ratio', 'limit', ''], ...rows]
  const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)))
  return all.map((row) => row.map((cell, column) => cell.padEnd(widths[column])).join('  ').trimEnd()).join('\n')
}

/** Ours, the reference's, and how they compare. */
export function measured({ ours, reference, ratio, value, unit, points, slope }) {
  if (points) return [`${time(points[0].lowest)} … ${time(points.at(-1).lowest)}`, `${points[0].size} … ${points.at(-1).size}`, `slope ${slope.toFixed(2)}`]
  if (value !== undefined) return [`${Number(value.toPrecision(3))} ${unit}`, '', '']
  const spread = ({ median, low, high }) => `${time(median)} (${time(low)} … ${time(high)})`
  return [spread(ours), spread(reference), times(ratio)]
}

export function limited(limit, unit) {
  if (limit.ratio !== undefined) return `≤ ${times(limit.ratio)}`
  if (limit.ms !== undefined) return `≤ ${limit.ms} ms`
  if (limit.over !== undefined) return `≤ ${limit.over} ms more`
  if (limit.slope !== undefined) return `slope ≤ ${limit.slope}`
  return `≤ ${limit.most} ${unit}`
}

export function times(ratio) {
  return ratio >= 0.995 ? `${ratio.toFixed(2)} ×` : `1/${(1 / ratio).toFixed(1)}`
}

export function time(ns) {
  if (ns >= 1e6) return `${(ns / 1e6).toFixed(2)} ms`
  if (ns >= 1e3) return `${(ns / 1e3).toFixed(2)} µs`
  return `${ns.toFixed(0)} ns`
}
