// Cases beside their references: a dot for the median, a line from the fastest tenth to the slowest.

import { limited, time, times } from '../../benches/harness.mjs'
import { dot, line, logarithmic, OURS, picture, REFERENCE, text, tick } from './plot.mjs'

const WIDTH = 860
const LEFT = 210
const RIGHT = 640
const ROW = 46
const TOP = 64

export function barPlot(family, cases) {
  const height = TOP + cases.length * ROW + 40
  const values = cases.flatMap(({ ours, reference }) => [ours.low, ours.high, reference.low, reference.high])
  const { place, ticks } = logarithmic(values, LEFT, RIGHT)
  const bottom = TOP + cases.length * ROW
  const axis = ticks.flatMap((at) => [
    line(place(at), TOP - 8, place(at), bottom),
    text(place(at), bottom + 18, tick(at), { anchor: 'middle', size: 11 }),
  ])
  const legend = [
    text(16, 24, family, { size: 15, bold: true }),
    dot(LEFT, 40, OURS), text(LEFT + 10, 44, 'this package', { size: 11 }),
    dot(LEFT + 110, 40, REFERENCE), text(LEFT + 120, 44, 'its reference', { size: 11 }),
    text(RIGHT + 16, 44, 'ratio, and the goal', { size: 11 }),
  ]
  const rows = cases.flatMap((one, index) => row(one, TOP + index * ROW, place))
  return picture(WIDTH, height, `${family}: times of this package and of its references`, [...axis, ...legend, ...rows])
}

function row({ name, ours, reference, ratio, limit, met }, top, place) {
  const mark = (side, y, color) => [
    line(place(side.low), y, place(side.high), y, { color, width: 2 }),
    dot(place(side.median), y, color),
    text(place(side.high) + 8, y + 4, time(side.median), { size: 10, color }),
  ]
  return [
    text(16, top + 20, name.split('/')[1], { size: 12 }),
    ...mark(ours, top + 10, OURS),
    ...mark(reference, top + 26, REFERENCE),
    text(RIGHT + 86, top + 20, times(ratio), { size: 12, anchor: 'end', bold: true }),
    text(RIGHT + 96, top + 20, `${limited(limit)} ${met ? '✓' : '✗'}`, { size: 11, color: met ? '#15803d' : '#b91c1c' }),
  ]
}
