// How cost grows with size, both logarithmic: a line that rises as the grey ones do doubles with the size.

import { dot, line, logarithmic, picture, round, text, tick } from './plot.mjs'

const WIDTH = 860
const HEIGHT = 470
const [LEFT, RIGHT, TOP, BOTTOM] = [80, 560, 48, 410]
const COLORS = ['#1d4ed8', '#d97706', '#15803d', '#b91c1c', '#7c3aed', '#0891b2', '#be185d', '#4d7c0f']

export function growthPlot(family, cases) {
  const all = cases.flatMap(({ points }) => points)
  const across = logarithmic(all.map(({ size }) => size), LEFT, RIGHT)
  const up = logarithmic(all.map(({ lowest }) => lowest), BOTTOM, TOP)
  const grid = [
    ...across.ticks.flatMap((at) => [line(across.place(at), TOP, across.place(at), BOTTOM), text(across.place(at), BOTTOM + 18, at.toLocaleString('en'), { anchor: 'middle', size: 11 })]),
    ...up.ticks.flatMap((at) => [line(LEFT, up.place(at), RIGHT, up.place(at)), text(LEFT - 8, up.place(at) + 4, tick(at), { anchor: 'end', size: 11 })]),
    text((LEFT + RIGHT) / 2, BOTTOM + 40, 'records, leftovers, processes or connections', { anchor: 'middle', size: 11 }),
    text(16, 24, `${family}: the fastest of 15 samples by size`, { size: 15, bold: true }),
  ]
  const ends = labels(cases.map(({ points }) => up.place(points.at(-1).lowest)))
  const curves = cases.flatMap(({ name, points, slope, met }, index) => {
    const color = COLORS[index % COLORS.length]
    const places = points.map(({ size, lowest }) => [across.place(size), up.place(lowest)])
    const [x, y] = places.at(-1)
    const path = places.map(([at, height]) => `${round(at)},${round(height)}`).join(' ')
    return [
      `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...places.map(([at, height]) => dot(at, height, color, 3)),
      line(x + 5, y, RIGHT + 14, ends[index], { color }),
      text(RIGHT + 18, ends[index] + 4, `${name.split('/')[1]}: slope ${slope.toFixed(2)} ${met ? '✓' : '✗'}`, { size: 12, color }),
    ]
  })
  return picture(WIDTH, HEIGHT, `${family}: cost by size`, [...grid, ...curves])
}

/** Heights for labels that want these, none on another. */
function labels(wanted) {
  const order = wanted.map((_, index) => index).sort((a, b) => wanted[a] - wanted[b])
  const heights = []
  let last = -Infinity
  for (const index of order) {
    last = Math.max(wanted[index], last + 18)
    heights[index] = last
  }
  return heights
}
