//! Every case has its tests: the table of `docs/proof.md` names tests that exist, and none is missing in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const TABLE: &str = "docs/proof.md";
/// How many cases there are of each kind.
const KINDS: [(char, usize); 5] = [('L', 21), ('P', 15), ('R', 12), ('H', 6), ('S', 5)];

/// A test, by its file and its name.
type Test = (String, String);

#[test]
fn every_case_has_a_row_with_a_test() {
    let table = table();
    let expected: Vec<_> = KINDS
        .iter()
        .flat_map(|(kind, count)| (1..=*count).map(move |number| format!("{kind}{number}")))
        .collect();
    assert_eq!(table.iter().map(|(case, _)| case.as_str()).collect::<Vec<_>>(), expected);
    let empty: Vec<_> = table.iter().filter(|(_, tests)| tests.is_empty()).collect();
    assert!(empty.is_empty(), "no test is named for {empty:?}");
}

#[test]
fn every_test_that_the_table_names_exists() {
    for (case, tests) in table() {
        for (file, name) in tests {
            let text = std::fs::read_to_string(root().join(&file));
            let text = text.unwrap_or_else(|error| panic!("{case}: {file}: {error}"));
            assert!(names(&file, &text).contains(&name), "{case}: {file} has no test `{name}`");
        }
    }
}

#[test]
fn every_test_with_a_case_s_number_in_its_name_is_in_the_table() {
    let mut named: BTreeMap<String, Vec<Test>> = table().into_iter().collect();
    let mut seen = 0;
    for (file, text) in sources() {
        for name in names(&file, &text) {
            for case in cases_of(&name) {
                let tests = named.entry(case.clone()).or_default();
                assert!(tests.contains(&(file.clone(), name.clone())), "{case} lacks `{file}`: `{name}`");
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "only {seen} tests were found");
}

/// The cases of the table, each with its tests, in the table's order.
fn table() -> Vec<(String, Vec<Test>)> {
    let text = std::fs::read_to_string(root().join(TABLE)).expect("the table");
    let (_, text) = text.split_once("\n## Cases\n").expect("a section of cases");
    let rows =
        text.lines().filter(|line| line.starts_with("| ") && line[2..3].chars().all(char::is_uppercase));
    let rows = rows.map(|line| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let &[case, _, shown_by] = cells.as_slice() else { panic!("not three cells: {line}") };
        (case.to_owned(), tests(shown_by))
    });
    rows.collect()
}

/// `` `file`: `name`, `name`<br>`file`: `name` ``
fn tests(cell: &str) -> Vec<Test> {
    let files = cell.split("<br>").filter(|part| !part.is_empty());
    files
        .flat_map(|part| {
            let mut quoted = part.split('`').skip(1).step_by(2).map(str::to_owned);
            let file = quoted.next().expect("a file");
            quoted.map(move |name| (file.clone(), name)).collect::<Vec<_>>()
        })
        .collect()
}

/// The names of a file's tests; of a JavaScript file every text in quotes, which is where the names are among.
fn names(file: &str, text: &str) -> Vec<String> {
    if !file.ends_with(".rs") {
        let quoted = |line: &str, quote: char| {
            line.split(quote).skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
        };
        return text
            .lines()
            .flat_map(|line| ['\'', '`'].map(|quote| quoted(line, quote)))
            .flatten()
            .collect();
    }
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        is_test |= line == "#[test]";
        if let Some((name, _)) = line.strip_prefix("fn ").and_then(|rest| rest.split_once('(')) {
            if std::mem::take(&mut is_test) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// The cases whose numbers a test's name begins with: `l20_one_…`, `l20 l21 one …`.
fn cases_of(name: &str) -> Vec<String> {
    let words: Vec<_> = name.split(['_', ' ']).collect();
    let cases = words.iter().take_while(|word| is_a_case(word)).count();
    // A number alone is no sentence.
    if cases == words.len() {
        return Vec::new();
    }
    words[..cases].iter().map(|word| word.to_uppercase()).collect()
}

fn is_a_case(word: &str) -> bool {
    KINDS.iter().any(|(kind, count)| {
        let number = word.strip_prefix(kind.to_ascii_lowercase()).and_then(|number| number.parse().ok());
        number.is_some_and(|number: usize| (1..=*count).contains(&number))
    })
}

/// Every file that may have tests, by its path in the repository, and what it says.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = ["src", "tests", "__test__"].map(|name| root().join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs" || end == "ts") {
                let file =
                    path.strip_prefix(root()).expect("it is in there").to_str().expect("text").to_owned();
                found.push((file, std::fs::read_to_string(path).expect("a file")));
            }
        }
    }
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
