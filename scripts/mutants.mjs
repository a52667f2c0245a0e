// node scripts/mutants.mjs [option of cargo test …] [-- test filter …]: the explorer is shown faults, and must see each of them.
//
// What is done wrong stands in tests/mutants/*.diff, beside the tests that say what is found. All of it goes into one
// copy of the sources at once, each behind a switch that is turned on for the run of one test, so that a single build
// serves all. The sources themselves know nothing of it.
//
// A diff, line by line:
//
//   # …           a remark
//   = …           a mutation begins, with its name
//   @ …           the file that the next hunks are for
//   ␣… -… +…      a hunk, as diff writes it; an empty line ends it. Where it belongs is told by its text alone, which
//                 must occur in the file exactly once.
//
// With the mutation the lines with + are run instead of those with -. Where that is not how one would say it in Rust,
// as in an arm of a match, the lines with + say it themselves: MUTANT is true where the mutation is on.

import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fail, root, run } from './prepare.mjs'

const here = path.join(root, 'tests', 'mutants')
const copy = path.join(root, 'target', 'mutants')

const names = readdirSync(here).sort()
const tests = names.filter((name) => name.endsWith('.rs')).map((name) => path.join(here, name))
const mutations = names.filter((name) => name.endsWith('.diff')).flatMap((name) => parse(path.join(here, name)))

seeThatEachIsTested()
run('rustfmt', ['--check', '--edition', '2021', ...tests], { what: 'rustfmt on tests/mutants' })
makeCopy()
const options = ['--locked', '--no-default-features', '--features', 'sim', '--test', 'mutants', ...process.argv.slice(2)]
const where = ['--manifest-path', path.join(copy, 'Cargo.toml'), '--target-dir', path.join(root, 'target')]
run('cargo', ['test', ...where, ...options], { what: 'cargo test on the mutations' })

/** The mutations of a diff: each a name and its hunks. */
function parse(file) {
  const found = []
  let source, hunk
  for (const [at, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const wrong = (why) => fail(`${path.relative(root, file)}:${at + 1}: ${why}`)
    const [mark, text] = [line[0], line.slice(2)]
    if (mark === undefined) hunk = undefined
    else if (mark === '=') found.push({ name: text, hunks: [] })
    else if (mark === '@') source = text
    else if (' -+'.includes(mark)) {
      if (!found.length || !source) wrong('a hunk stands after the name of its mutation and of its file')
      if (!hunk) found.at(-1).hunks.push((hunk = { source, before: [], off: [], on: [], after: [] }))
      const isAfter = hunk.off.length + hunk.on.length > 0
      if (isAfter && mark !== ' ' && hunk.after.length) wrong('a hunk has one place that changes')
      const part = { ' ': isAfter ? 'after' : 'before', '-': 'off', '+': 'on' }[mark]
      hunk[part].push(line.slice(1))
    } else if (mark !== '#') wrong(`a line does not begin with ${JSON.stringify(mark)}`)
  }
  return found
}

function seeThatEachIsTested() {
  const text = tests.map((file) => readFileSync(file, 'utf8')).join('')
  const untested = mutations.filter(({ name }) => !text.includes(JSON.stringify(name)))
  if (untested.length) fail(`no test in tests/mutants is for ${untested.map(({ name }) => name).join(', ')}`)
}

function makeCopy() {
  rmSync(copy, { recursive: true, force: true })
  mkdirSync(copy, { recursive: true })
  for (const name of ['Cargo.toml', 'Cargo.lock', 'build.rs', 'src', 'tests']) {
    cpSync(path.join(root, name), path.join(copy, name), { recursive: true, preserveTimestamps: true })
  }
  // Under a name of its own, or cargo would take what is compiled of the one for the other.
  const named = 'name = "harnery-native"'
  change('Cargo.lock', (text) => text.replace(named, 'name = "harnery-native-mutants"'))
  change('Cargo.toml', (text) => {
    const renamed = text.replace(named, 'name = "harnery-native-mutants"\nautotests = false')
    const library = renamed.replace('[lib]', '[lib]\nname = "harnery_native"')
    return `${library}\n[[test]]\nname = "mutants"\npath = "tests/mutants/root.rs"\n`
  })
  change('src/lib.rs', (text) => text + switchboard())
  for (const source of new Set(mutations.flatMap(({ hunks }) => hunks.map((hunk) => hunk.source)))) {
    change(source, (text) => mutate(source, text))
  }
}

function change(name, how) {
  const file = path.join(copy, name)
  writeFileSync(file, how(readFileSync(file, 'utf8')))
}

function mutate(source, text) {
  const edits = mutations.flatMap(({ name, hunks }) =>
    hunks.filter((hunk) => hunk.source === source).map((hunk) => edit(name, hunk, text)),
  )
  edits.sort((one, other) => other.start - one.start)
  for (const [at, { name, start, end, by }] of edits.entries()) {
    if (at > 0 && end > edits[at - 1].start) fail(`mutations ${name} and ${edits[at - 1].name} change one place: ${source}`)
    text = text.slice(0, start) + by + text.slice(end)
  }
  return text
}

/** Where a hunk's change begins and ends, and what stands there instead. */
function edit(name, { source, before, off, on, after }, text) {
  const lines = (part) => part.map((line) => `${line}\n`).join('')
  const find = lines([...before, ...off, ...after])
  const at = text.indexOf(find)
  if (at < 0 || text.indexOf(find, at + 1) >= 0) fail(`mutation ${name} no longer fits: ${source}`)
  const start = at + lines(before).length
  return { name, start, end: start + lines(off).length, by: guarded(name, lines(off), lines(on)) }
}

function guarded(name, off, on) {
  const isOn = `crate::mutant::is(${JSON.stringify(name)})`
  if (on.includes('MUTANT')) return on.replaceAll('MUTANT', isOn)
  if (!on) return `if !${isOn} {\n${off}}\n`
  return off ? `if ${isOn} {\n${on}} else {\n${off}}\n` : `if ${isOn} {\n${on}}\n`
}

function switchboard() {
  return `
/// Which mutation is on.
pub mod mutant {
    use std::cell::Cell;

    const NAMES: &[&str] = &${JSON.stringify(mutations.map(({ name }) => name))};

    thread_local! {
        static ON: Cell<&'static str> = const { Cell::new("") };
    }

    /// Do something with a mutation. It is on in this thread only.
    pub fn with<T>(name: &'static str, run: impl FnOnce() -> T) -> T {
        assert!(NAMES.contains(&name), "there is no mutation {name}");
        ON.set(name);
        let done = run();
        ON.set("");
        done
    }

    pub(crate) fn is(name: &str) -> bool {
        ON.get() == name
    }
}
`
}
