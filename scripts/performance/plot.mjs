// What both kinds of plots are drawn with.

import { time } from '../../benches/harness.mjs'

export const OURS = '#1d4ed8'
export const REFERENCE = '#d97706'
const INK = '#1f2937'
const GRID = '#e5e7eb'

/** A text that may hold anything. */
export function escaped(text) {
  return String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

export function text(x, y, content, { anchor = 'start', size = 12, color = INK, bold = false } = {}) {
  const weight = bold ? ' font-weight="600"' : ''
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="${size}" fill="${color}"${weight}>${escaped(content)}</text>`
}

export function line(x1, y1, x2, y2, { color = GRID, width = 1 } = {}) {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${color}" stroke-width="${width}"/>`
}

export function dot(x, y, color, radius = 4) {
  return `<circle cx="${round(x)}" cy="${round(y)}" r="${radius}" fill="${color}"/>`
}

export function picture(width, height, title, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

/** A logarithmic scale from values to a stretch of the picture, with a tick for each power of ten. */
export function logarithmic(values, from, to) {
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  const place = (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from)
  const ticks = Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step))
  return { place, ticks }
}

/** A time on an axis, without digits that say nothing. */
export function tick(ns) {
  return time(ns).replace(/\.0+ /, ' ')
}

export function round(number) {
  return Math.round(number * 10) / 10
}
