//! Whether a failure's text says that the vendor refused, read once more by trying every place in it.

/// The contract's three places of a status, and its phrases.
pub fn says_upstream(text: &str) -> bool {
    let text: Vec<char> = text.chars().map(|c| c.to_ascii_lowercase()).collect();
    (0..text.len()).any(|at| {
        is_phrase(&text[at..]) || is_status_after_a_word(&text, at) || is_status_of_a_line(&text, at)
    })
}

fn is_phrase(text: &[char]) -> bool {
    let between = |first: &str, second: &str, separators: &[&str]| {
        separators.iter().any(|separator| starts(text, &format!("{first}{separator}{second}")))
    };
    between("circuit", "open", &["", " ", "_", "-"])
        || between("rate", "limit", &["", " ", "_", "-"])
        || between("gateway time", "out", &["", "-"])
        || ["service unavailable", "too many requests", "bad gateway", "internal server error", "overloaded"]
            .iter()
            .any(|phrase| starts(text, phrase))
}

/// `HTTP` or `status`, a whole word, and what may stand between it and a status.
fn is_status_after_a_word(text: &[char], at: usize) -> bool {
    if at > 0 && is_word(text[at - 1]) {
        return false;
    }
    let rest = &text[at..];
    let whole = |word: &str| {
        let after = starts(rest, word).then(|| &rest[word.len()..])?;
        after.first().is_none_or(|c| !is_word(*c)).then_some(after)
    };
    if let Some(after) = whole("http") {
        // Any run: also a shorter one, so that the status may begin with what the run could take.
        let run = after.iter().take_while(|c| matches!(c, '/' | '.' | ' ' | '0'..='9')).count();
        return (0..=run).any(|length| is_status(&after[length..]));
    }
    if !starts(rest, "status") {
        return false;
    }
    let after = &rest["status".len()..];
    let blanks = after.iter().take_while(|c| is_white_space(**c)).count();
    let codes =
        (0..=blanks).filter(|length| starts(&after[*length..], "code")).map(|length| &after[length + 4..]);
    [after].into_iter().chain(codes).filter(|end| end.first().is_none_or(|c| !is_word(*c))).any(|end| {
        let run = end.iter().take_while(|c| is_white_space(**c) || matches!(c, ':' | '=')).count();
        (0..=run).any(|length| is_status(&end[length..]))
    })
}

/// At the start of a line: white space, a status, white space, a letter.
fn is_status_of_a_line(text: &[char], at: usize) -> bool {
    let before = text[..at].iter().rev().take_while(|c| is_white_space(**c)).count();
    let starts_a_line = at == before || text[at - before..at].contains(&'\n');
    let after = text.get(at + 3..).unwrap_or_default();
    let blanks = after.iter().take_while(|c| is_white_space(**c)).count();
    let letter = after.get(blanks).is_some_and(char::is_ascii_alphabetic);
    starts_a_line && is_status(&text[at..]) && blanks > 0 && letter
}

fn is_status(text: &[char]) -> bool {
    let is_number = match text {
        ['4', '2', '9', ..] => true,
        ['5', a, b, ..] => a.is_ascii_digit() && b.is_ascii_digit(),
        _ => false,
    };
    is_number && text.get(3).is_none_or(|c| !c.is_ascii_digit())
}

fn starts(text: &[char], with: &str) -> bool {
    with.chars().count() <= text.len() && with.chars().zip(text).all(|(a, b)| a == *b)
}

/// JavaScript's `\w` and `\s`.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_white_space(c: char) -> bool {
    c != '\u{85}' && (c.is_whitespace() || c == '\u{feff}')
}
