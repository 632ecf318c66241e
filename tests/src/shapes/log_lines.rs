//! The lines of a log, compared with those of another server.

use std::collections::BTreeSet;

/// The texts of a log's lines that contain one of these words, without their time and mark. Numbers and names of
/// servers are masked.
pub fn masked_lines(log: &str, words: &[&str]) -> BTreeSet<String> {
    let texts = log.lines().filter_map(|line| line.split_once(['*', '#']).map(|(_, text)| text.trim_start()));
    texts.filter(|text| words.iter().any(|word| text.contains(word))).map(masked).collect()
}

/// A text in which each name of 40 digits is `NAME` and each other number `N`.
fn masked(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end.max(first.len_utf8()));
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let is_name = word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        shown.push_str(match (is_name, is_number) {
            (true, _) => "NAME",
            (_, true) => "N",
            _ => word,
        });
        rest = after;
    }
    shown
}

/// Requires that both logs have the same lines. Lines that contain one of the words in `either` occur by chance, but no
/// other lines do.
///
/// # Panics
/// Panics with the lines that only one of them has.
#[track_caller]
pub fn assert_same_lines(ours: &BTreeSet<String>, real: &BTreeSet<String>, either: &[&str]) {
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> Vec<String> {
        let lines = one.difference(other).filter(|line| !either.contains(&line.as_str()));
        lines.cloned().collect()
    };
    let (missing, added) = (only(real, ours), only(ours, real));
    assert!(missing.is_empty() && added.is_empty(), "missing: {missing:#?}\nadded: {added:#?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_masked() {
        let name = "0123456789abcdef0123456789abcdef01234567";
        let log = format!("12:S 27 Nov 2026 22:40:20.090 # auth to {name} at 1.2.3.4:5 for p2\nother\n");
        let lines = masked_lines(&log, &["auth"]);
        assert_eq!(lines.into_iter().collect::<Vec<_>>(), ["auth to NAME at N.N.N.N:N for p2"]);
    }
}
