//! The search for the known word that is nearest to a mistyped word.

/// The most bytes of a word that has a nearest word. A longer word is no typing error.
const MAX_WORD_BYTES: usize = 64;

/// The fewest characters of a word that is taken for the beginning of another word.
const MIN_BEGINNING: usize = 3;

/// Returns the known word with the fewest typing errors from `word`, in any case; the first of several. A word is too
/// far away with more than one error for each three characters of the longer word, or half of them. If all are too far
/// away, returns the only known word that begins with `word`.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_WORD_BYTES {
        return None;
    }
    let known: Vec<&str> = known.into_iter().collect();
    mistyped(word, &known).or_else(|| begun(word, &known))
}

/// The only known word that begins with `word`, in any case; `None` for several, or a short `word`.
fn begun<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let begins = |known: &&str| known.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let mut found = known.iter().copied().filter(begins);
    let first = found.next().filter(|_| word.chars().count() >= MIN_BEGINNING);
    first.filter(|_| found.next().is_none())
}

/// The known word with the fewest typing errors, unless there are too many.
fn mistyped<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let length = word.chars().count();
    let word = word.to_lowercase();
    let known = known.iter().copied().filter(|known| known.len() <= 2 * MAX_WORD_BYTES);
    let distances = known.filter_map(|known| {
        let longer = length.max(known.chars().count());
        let most = (longer / 3).max(1);
        let is_near = known.chars().count().abs_diff(length) <= most;
        let errors = is_near.then(|| distance(&word, &known.to_lowercase()))?;
        (errors <= most && 2 * errors < longer && errors < known.len()).then_some((errors, known))
    });
    distances.min_by_key(|(errors, _)| *errors).map(|(_, known)| known)
}

/// The number of typing errors between two words: characters that are added, left out, replaced, or exchanged with
/// their neighbour. O(product of the lengths).
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![(0..=right.len()).collect::<Vec<usize>>()];
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut least = (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

/// ` Did you mean 'x'?` with the nearest word, to stand behind a sentence. Empty if there is no such word.
pub fn suggestion(found: Option<impl AsRef<str>>) -> String {
    found.map(|word| format!(" Did you mean '{}'?", word.as_ref())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_unless_all_are_far_away() {
        let known = ["run", "topology", "healthcheck", "PORT", "maxmemory-policy", "it", "completion"];
        for (word, expected) in [
            ("rnu", Some("run")),
            ("rn", Some("run")),
            ("complete", Some("completion")),
            ("topo", Some("topology")),
            ("to", None),
            ("prot", Some("PORT")),
            ("port", Some("PORT")),
            ("topolgy", Some("topology")),
            ("health-check", Some("healthcheck")),
            ("maxmemorypolicy", Some("maxmemory-policy")),
            ("RUM", Some("run")),
            ("rnr", None),
            ("frobnicate", None),
            ("is", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest(&"run".repeat(1000), known), None);
        let large = "run".repeat(1_000_000);
        assert_eq!(nearest("rnu", [large.as_str(), "run"]), Some("run"));
    }
}
