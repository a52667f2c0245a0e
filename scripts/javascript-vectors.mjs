// Prints what JavaScript itself answers, for tests/javascript.rs to hold the Rust code to.
//
// Run by hand, with a Node that has full ICU, when a rule gains a case:
//   node scripts/javascript-vectors.mjs > tests/vectors/javascript.json
// Nothing here is random between runs: the same Node prints the same file.

import { createHash } from 'node:crypto'
import { posix } from 'node:path'

const compare = (a, b) => a.localeCompare(b, 'en')

function canonicalForm(value) {
  if (Array.isArray(value)) return value.map(canonicalForm)
  if (value === null || typeof value !== 'object') return value
  const keys = Object.keys(value).sort(compare)
  return Object.fromEntries(keys.map((key) => [key, canonicalForm(value[key])]))
}

const canonicalJson = (value) => JSON.stringify(canonicalForm(value))
const sha256 = (text) => createHash('sha256').update(text, 'utf8').digest('hex')

// A small generator with a fixed seed (xorshift), so that samples are broad and the same every time.
let state = 0x9e3779b97f4a7c15n
function random() {
  state ^= (state << 13n) & 0xffffffffffffffffn
  state ^= state >> 7n
  state ^= (state << 17n) & 0xffffffffffffffffn
  return state
}
const below = (limit) => Number(random() % BigInt(limit))
const pick = (items) => items[below(items.length)]
function randomDouble() {
  const view = new DataView(new ArrayBuffer(8))
  do view.setBigUint64(0, random())
  while (!Number.isFinite(view.getFloat64(0)))
  return view.getFloat64(0)
}

const points = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i))

// --- JSON -----------------------------------------------------------------------------------------------------------

const keySamples = [
  'a', 'b', 'B', 'c', 'A', '_', '-', 'a_b', 'a-b', 'ab', 'aB', 'Ab', '10', '9', '0', '01', '-1', '1.5', '1e3', '4294967294',
  '4294967295', '4294967296', '00', '', ' ', 'é', 'e', 'e\u0301', 'ß', 'ss', 'z', 'Å', 'ä', 'Z', '\u{1F600}', '\ud800', '\udc00x',
  '\uE000', '日本', '__proto__', 'constructor', 'toString', 'schema_version', 'pid', 'host', 'created_at', '\u0000', 'a\u0000',
  'co-op', 'coop', 'CO-OP', 'résumé', 'resume', 'Resume', '\u200b', '\ufffd',
]

function randomValue(depth) {
  const kind = below(depth > 3 ? 5 : 8)
  if (kind === 0) return null
  if (kind === 1) return below(2) === 1
  if (kind === 2) return pick([0, -0, 1, -1, 1.5, 1e21, 1e-7, 2 ** 53, randomDouble(), below(1e9)])
  if (kind <= 4) return pick(keySamples)
  if (kind === 5) return Array.from({ length: below(4) }, () => randomValue(depth + 1))
  return Object.fromEntries(Array.from({ length: below(9) }, () => [pick(keySamples), randomValue(depth + 1)]))
}

const documents = [
  'null', 'true', 'false', '0', '-0', '""', '[]', '{}', ' [ ] ', '\t\r\n{ }\n', '[[[]]]', '{"a":{"b":{"c":[]}}}', '[1,2,3]', '[{},{"a":1}]',
  // Equal keys: the first gives the place, the last the value.
  '{"a":1,"b":2,"a":3}', '{"b":{"x":1},"a":0,"b":{"y":2}}', '{"1":"x","a":0,"1":"y"}', '{"a":1,"\\u0061":2}', '{"a":1,"b":1,"c":1,"b":2,"c":3,"a":4,"c":5}',
  // Array indices first, ascending; only canonical ones up to 2^32 - 2.
  '{"b":1,"10":2,"a":3,"9":4,"01":5,"4294967294":6,"4294967295":7,"0":8,"-1":9,"1.0":10}',
  '{"a-b":1,"a_b":2,"ab":3,"aB":4,"A":5,"a":6,"B":7,"10":8,"9":9,"_":10,"-":11}',
  '{"e\\u0301":1,"é":2,"e":3,"f":4}', '{"é":1,"e\\u0301":2}', '{"a\\u0000":1,"a":2}', '{"a":1,"a\\u0000":2}',
  '{"__proto__":{"x":1},"a":2}', '{"toString":1,"constructor":2,"hasOwnProperty":3}',
  '{"\\ud800":1,"\\udc00":2,"\\ud800\\udc00":3,"\\ufffd":4,"z":5,"\\ue000":6}', '{"\\ud801":1,"\\ud800":2,"\\ud800a":3}',
  '"\\ud83d\\ude00"', '"\\ude00\\ud83d"', '"\\ud83d\\ud83d\\ude00\\ude00"', '"\\ud83dx\\ude00"', '"\\uD800\\u0041"', '"\ud83d\ude00"',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\\u2028\\u2029\\u00e9\\uFFFF"', '"\u007f\u0080\u2028\u2029\ufeff\uffff"', '"/"',
  '{"a":1.0,"b":1e3,"c":-0,"d":1E400,"e":-1e400,"f":5e-324,"g":1e-400,"h":123456789012345678901234567890}',
  JSON.stringify({ schema_version: 1, pid: 4711, host: 'h', args: ['a b', "c\"d"], env: {}, ports: [], nested: { z: null, a: [null, { b: [] }] } }),
  '['.repeat(40) + ']'.repeat(40), `${'{"a":'.repeat(40)}1${"}".repeat(40)}`,
  ...Array.from({ length: 150 }, () => JSON.stringify(randomValue(0))),
]

const refused = [
  '', ' ', 'nul', 'nulll', 'NaN', 'Infinity', '-', '+1', '01', '-01', '1.', '.5', '1e', '1e+', '0x10', '1 2', '[', ']', '[1,]', '[,]', '[1 2]', '{', '}',
  '{a:1}', "{'a':1}", '{"a"}', '{"a":}', '{"a":1,}', '{,"a":1}', '{"a":1 "b":2}', '{"a" 1}', '"', '"a', "'a'", '"\\x"', '"\\u12"', '"\\u12g4"', '"\\u 123"', '"\\',
  '"a\nb"', '"a\tb"', '"\u0000"', '"\u001f"', '\u00a01', '\u20281', '\ufeff1', '1\ufeff', '\u000b1', '\u000c1', '// c\n1', '1 // c', '/**/1', 'undefined', 'tru', 'True', '[1]]', '{}{}', '\u0000', 'null\u0000',
  '{"a":1}\n\u0000', '"\\u+123"', '"\\u-123"', '1_000', '1n', '--1', '1e1.5', '[1}', '{"a":1]', '{1:1}', '{null:1}',
]

// A file's bytes are decoded with replacement before they are parsed.
const bytes = [
  '22ff22', '22c322', '22c32822', '22e28222', '22e2822822', '22f09f9822', '22eda08022', '22eda08022', '22f888808022', '22f4908080 22', '22c08022', '22e0808022', '22edbfbf22',
  '22f09f988022', 'efbbbf31', '31efbbbf', 'ff', '5b31ff5d', '22f09f22', '22f0809f22', '22e1a0c022', '2280bf22', '22ffff22', '22f8a1a1a1a122', '22c3a922', 'feff0031', '3100', '22fe22', '22fffe22',
].map((hex) => hex.replaceAll(' ', ''))

const attempt = (action) => {
  try {
    return action()
  } catch {
    return null
  }
}

const json = documents.map((text) => {
  const value = JSON.parse(text)
  const compact = JSON.stringify(value)
  return { text, compact, pretty: JSON.stringify(value, null, 2), canonical: canonicalJson(value), digest: sha256(canonicalJson(value)) }
})

for (const text of refused) if (attempt(() => [JSON.parse(text)]) !== null) throw new Error(`accepted: ${JSON.stringify(text)}`)

const numberTexts = [
  '0', '-0', '0.0', '-0.0', '1', '1.0', '5.0', '1e3', '1E3', '1e+3', '1e-3', '0.1', '0.30000000000000004', '1e21', '1e20', '999999999999999900000', '123456789012345680000', '1e-6', '1e-7', '1.5e-7',
  '5e-324', '2e-324', '3e-324', '1.7976931348623157e308', '1.7976931348623159e308', '1e309', '-1e309', '9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740991', '-9007199254740992', '9007199254740990.5',
  '4503599627370496.5', '4503599627370497.5', '0.5', '1.5', '2.5', '4.35', '0.000001', '0.0000001', '100000000000000000000', '1000000000000000000000', '4294967295', '4294967296', '1733000000000', '1e0', '10e-1', '0e5', '-0e5', '0e999999', '1e-999999',
  '2.2250738585072011e-308', '2.2250738585072014e-308', '179769313486231580793728971405301e276', '8.5', '1e23', '9.5e22', '123e-20', '1' + '0'.repeat(400), '0.' + '0'.repeat(400) + '1', '1.' + '0'.repeat(400) + '1',
]
for (let i = 0; i < 120; i++) {
  const value = randomDouble()
  numberTexts.push(String(value), value.toExponential(20), String(below(2 ** 48) / 2 ** below(40)))
}
const numbers = numberTexts.map((text) => [text, JSON.stringify(JSON.parse(text)), Number.isSafeInteger(JSON.parse(text)) ? String(JSON.parse(text)) : null])

// --- Text -----------------------------------------------------------------------------------------------------------

// Lone surrogates travel as JSON texts, which escape them.
const quoted = (text) => JSON.stringify(text)
const units = (text) => Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))

const texts = [
  '', 'a', 'abc', 'é', 'e\u0301', '日本語', '\u{1F600}', 'a\u{1F600}b', '\ud83d', '\ude00', '\ude00\ud83d', 'a\ud83db', '\ud83d\ud83d\ude00', '\u{10FFFF}\u{10000}', 'x'.repeat(40), '\u{1F600}'.repeat(12), '\uffff\ufffe\ufffd',
  '  a b  ', '\t\n\v\f\r a', '\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeffx\ufeff', '\u0085x\u0085', '\u200bx\u200b', '\u180ex\u180e', '\u001cx\u001f', '   ', '\ufeff', '\ud800 ', ' \udc00', ' \u{1F600} ', '\u2007x\u2008',
]

// A half pair at the cut goes too.
const isHigh = (unit) => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit) => unit >= 0xdc00 && unit <= 0xdfff
const splits = (text, at) => at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at))
function pairAt(text, at) {
  // Whether the units before and after `at` are one character: they are unless the high one is a second half itself.
  return splits(text, at) && [...text].reduce(([begin, found], c) => [begin + c.length, found || (begin < at && at < begin + c.length)], [0, false])[1]
}
const first = (text, limit) => text.slice(0, pairAt(text, limit) ? limit - 1 : limit)
const last = (text, limit) => {
  const at = Math.max(text.length - limit, 0)
  return text.slice(pairAt(text, at) ? at + 1 : at)
}

const text = texts.map((each) => ({
  text: quoted(each),
  units: units(each),
  utf8: Buffer.from(each).toString('hex'),
  trim: quoted(each.trim()),
  first: [0, 1, 2, 3, 5, 1000].map((limit) => [limit, quoted(first(each, limit))]),
  last: [0, 1, 2, 3, 5, 1000].map((limit) => [limit, quoted(last(each, limit))]),
}))

const blanks = points(0, 0xd7ff).concat(points(0xe000, 0xffff)).filter((c) => c.trim() === '').map((c) => c.codePointAt(0))

const joined = ['', 'a', '\ud83d', '\ude00', 'a\ud83d', '\ude00b', '\u{1F600}', '\ud83d\ud83d']
const joins = joined.flatMap((a) => joined.map((b) => [quoted(a), quoted(b), quoted(a + b)]))

// Unicode 17 gave these their lower-case forms, and the oldest Rust that builds this crate knows Unicode 16.
const young = (point) => [0xa7ce, 0xa7d2, 0xa7d4].includes(point) || (point >= 0x16ea0 && point <= 0x16eb8)
const cased = points(0, 0xd7ff).concat(points(0xe000, 0xffff), points(0x10000, 0x1ffff)).filter((c) => c.toLowerCase() !== c && !young(c.codePointAt(0)))
const words = [
  'ΟΔΥΣΣΕΥΣ', 'ΣΑΣ', 'Σ', 'ΑΣ', 'ΑΣ.', 'ΑΣ.Β', "Α'Σ", 'Σ Σ', 'ΑΣ\ud800', '\ud800Σ', 'ΑΣ\ud800Α', 'Α\u0301Σ\u0301', 'Α\u00adΣ\u00ad', '1Σ', 'ΑΣ1', 'İSTANBUL', 'I', 'İ', 'ẞ', 'ÅNGSTRÖM', 'ǅ', 'ÀÉ\ud83dÀ', '\u{10400}\u{1F600}A', 'ÇA', 'HTTP 503', 'Ω', 'K',
]
const lower = words.concat(cased).map((each) => [quoted(each), quoted(each.toLowerCase())])

// --- Collation ------------------------------------------------------------------------------------------------------

// Han characters are few here: Node orders them by radical and stroke, as each Unicode version counts them, and the
// Rust collator by code point (src/javascript/collate.rs).
const collated = [...new Set([
  '', ...points(0x20, 0x17f), ...points(0, 0x1f), ...keySamples, ...texts,
  '\u0301', '\u0300', 'Ω', 'ω', 'α', 'Я', 'я', 'ё', 'א', 'ا', 'あ', 'ア', 'ｱ', '一', '中', '가', 'ǆ', 'ŉ', 'ﬁ', '½', '²', '①', 'Ⅳ', '€', '\ud7ff', '\ue000', '\u{50000}', '\u{10ffff}', '\ufffe', '\uffff',
  'role', 'Role', 'rôle', 'Rôle', 'roles', 'rOle', 'r\u00adole', 'ro-le', 'ro le', 'ro_le', 'ro.le', 'ro/le', 'vice versa', 'vice-versa', 'viceversa', 'Vice', 'file1', 'file10', 'file2', 'File1', 'x1', 'x01', 'x_1', 'x-1', 'x.1',
  'cote', 'coté', 'côte', 'côté', 'Cote', 'aa', 'aA', 'Aa', 'AA', 'aab', 'AAB', 'a b', 'ab', 'a\tb', 'a\u0000b', 'ae', 'æ', 'AE', 'Æ', 'af', 'o\u0308', 'ö', 'oe', 'œ', 'oz', 'th', 'þ', 'ij', 'ĳ', '\ud800', '\ud801', '\udfff', '\ud800a', 'a\ud800', 'a\ud800b', 'a\ud801',
  ...Array.from({ length: 120 }, () => Array.from({ length: 1 + below(5) }, () => String.fromCharCode(0x20 + below(0x5f))).join('')),
  ...Array.from({ length: 60 }, () => Array.from({ length: 1 + below(4) }, () => pick(['a', 'A', 'á', 'b', '-', '_', ' ', '1', '10', 'Z', 'ß', 'é', '\u0301', '.'])).join('')),
])].sort(compare)
const groups = []
for (const each of collated) {
  if (groups.length > 0 && compare(groups.at(-1)[0], each) === 0) groups.at(-1).push(each)
  else groups.push([each])
}
groups.forEach((group, place) => {
  for (const [other, others] of groups.entries())
    for (const a of group) for (const b of others) if (Math.sign(compare(a, b)) !== Math.sign(place - other)) throw new Error(`no order: ${quoted(a)} ${quoted(b)}`)
})
const collation = groups.map((group) => group.map(quoted))

// --- Paths ----------------------------------------------------------------------------------------------------------

const paths = [
  '', '.', '..', '/', '//', '///', 'a', 'a/', '/a', '/a/', '//a', '///a//', 'a/b', 'a//b', 'a/./b', 'a/../b', '../a', '../../a/..', './a', '/..', '/../a', '/a/b/c', '/a/b/../../..', 'a/..', 'a/../', 'a/../..', '.a', '..a', '...', '/a/..b',
  '/home/user/project', '/home/user/project/src/x.ts', '/home/user/projects', '/home/user', 'é/日本', 'a b/c', '/a/.', '/a/./', './', '../', '/.', 'a/b/', '/a//b///c', '-', '~', 'a\\b', 'C:\\a', 'a\nb/c', '\u{1F600}/x',
]
const cwds = ['/', '/home/user/project', '/a/é']
const path = {
  resolve: cwds.flatMap((cwd) => paths.map((each) => [cwd, each, posix.resolve(cwd, each)])),
  normalize: paths.map((each) => [each, posix.normalize(each)]),
  basename: paths.map((each) => [each, posix.basename(each)]),
  dirname: paths.map((each) => [each, posix.dirname(each)]),
  isAbsolute: paths.map((each) => [each, posix.isAbsolute(each)]),
  join: paths.flatMap((base) => paths.map((more) => [base, more, posix.join(base, more)])),
  // Node takes both from its own current directory, so they are resolved before they are compared.
  relative: paths.flatMap((from) => paths.map((to) => [cwds[1], from, to, posix.relative(posix.resolve(cwds[1], from), posix.resolve(cwds[1], to))])),
}

// --- Instants -------------------------------------------------------------------------------------------------------

const iso = (ms) => attempt(() => new Date(ms).toISOString())
const instants = [
  0, 1, -1, 999, 1000, -999, -1000, 86399999, 86400000, -86400000, -86400001, 951782400000, 951868799999, 4107542399999, 1767323045678, 253402300799999, 253402300800000, -62167219200000, -62167219200001, -62135596800000, 8.64e15, -8.64e15, 8.64e15 + 1, -8.64e15 - 1, 2 ** 53, 1709164800000, -2208988800000, -2203891200000,
  ...Array.from({ length: 150 }, () => (below(2) ? 1 : -1) * below(8.64e15)), ...Array.from({ length: 60 }, () => below(4102444800000)),
]
const rfc3339 = [
  '2026-01-02T03:04:05Z', '2026-01-02t03:04:05z', '2026-01-02 03:04:05Z', '2026-01-02T03:04:05.6Z', '2026-01-02T03:04:05.67Z', '2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.6789Z', '2026-01-02T03:04:05.6789999999999999999999Z', '2026-01-02T03:04:05.9999Z',
  '1969-12-31T23:59:59.9999Z', '1969-12-31T23:59:59.0001Z', '1969-12-31t23:59:59.99999z', '2026-01-02T03:04:05-00:00', '2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05+05:30', '2026-01-02T03:04:05.678-08:00', '2026-01-02T03:04:05+23:59', '2026-01-02T03:04:05-23:59',
  '0000-01-01T00:00:00Z', '0000-02-29T00:00:00Z', '0099-01-01T00:00:00Z', '0100-01-01 00:00:00Z', '9999-12-31T23:59:59.999Z', '2000-02-29T00:00:00Z', '2024-02-29T12:00:00Z', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59',
  '+010000-01-01T00:00:00.000Z', '+002026-01-02T03:04:05Z', '-000001-01-01T00:00:00.000Z', '+275760-09-13T00:00:00.000Z', '+275760-09-13T01:00:00.000+01:00', '-271821-04-20T00:00:00.000Z', '+000000-01-01T00:00:00.000Z', '-271821-04-19T23:00:00.000-01:00', '2026-01-02 03:04:05.999+01:00',
]
const noInstants = [
  '', 'x', '2026-01-02T03:04:60Z', '2026-01-02T03:60:05Z', '2026-01-02T25:04:05Z', '2026-13-02T03:04:05Z', '2026-00-02T03:04:05Z', '2026-01-00T03:04:05Z', '2026-01-32T03:04:05Z', '2026-01-02T03:04:05.Z', '2026-01-02T03:04:05,5Z', '2026-01-02T03:04:05+24:00', '2026-01-02T03:04:05+01:60', '-000000-01-01T00:00:00.000Z',
  ' 2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z ', '2026-01-02T03:04:05Zx', '2026-01-02T03:04:05Z\n', '+275760-09-13T00:00:00.001Z', '-271821-04-19T23:59:59.999Z', '+999999-01-01T00:00:00Z', '２026-01-02T03:04:05Z', '2026-01-02T03:04:05.678ZZ', 'NaN', 'Invalid Date', '2026_01_02T03:04:05Z', '2026-01-02T03:04:05+1:00Z',
]
for (const each of noInstants) if (!Number.isNaN(Date.parse(each))) throw new Error(`an instant: ${each}`)
const milliseconds = ['0', '-0', '1.9', '-1.9', '0.5', '-0.5', '1767323045678.999', '8.64e15', '-8.64e15', '8640000000000001', '-8640000000000001', '1e400', '-1e400', '1e300', '5e-324', '8639999999999999.5']
const time = {
  format: instants.map((ms) => [String(ms), iso(ms)]),
  parse: rfc3339.map((each) => [each, Date.parse(each)]),
  invalid: noInstants,
  fromNumber: milliseconds.map((each) => [each, Number.isNaN(new Date(Number(each)).getTime()) ? null : new Date(Number(each)).getTime()]),
}

// --- Print, one vector to a line ------------------------------------------------------------------------------------

const ascii = (line) => line.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
const list = (items) => `[\n${items.map((item) => ascii(JSON.stringify(item))).join(",\n")}\n]`
const group = (members) => `{\n${Object.entries(members).map(([name, items]) => `"${name}": ${list(items)}`).join(',\n')}\n}`
console.log(`{
"json": ${list(json)},
"refused": ${list(refused)},
"bytes": ${list(bytes.map((hex) => [hex, attempt(() => JSON.stringify(JSON.parse(Buffer.from(hex, "hex").toString("utf8"))))]))},
"numbers": ${list(numbers)},
"text": ${list(text)},
"blanks": ${list([blanks])},
"joins": ${list(joins)},
"lower": ${list(lower)},
"collation": ${list(collation)},
"path": ${group(path)},
"time": ${group(time)}
}`)
