//! Every case has its tests, and the table of `docs/proof.md` names only such as exist.

use std::path::Path;

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

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
