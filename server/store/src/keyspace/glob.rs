//! Glob patterns as Redis reads them, for KEYS, SCAN, PSUBSCRIBE, CONFIG GET and ACL rules.

/// The number of stars above which a pattern matches nothing, as in Redis, which refuses abusive patterns the same way.
const MAX_STARS: usize = 1000;

/// Whether `text` matches `pattern`.
///
/// `*` matches any bytes, `?` one byte, `[a-c]` and `[^a]` one byte of a class. `\` takes the next byte literally. With
/// `nocase`, ASCII letters match in either case.
///
/// The oddities are Redis'. An unclosed class ends with the pattern. A range may be written backwards, and orders its
/// bytes as signed. The empty text is matched by the empty pattern alone, but KEYS and SCAN list every key for `*`.
///
/// No recursion. O(pattern + text) if the text between two stars is plain. A part with a class or `?` is tried at each
/// place of the text: at most O(pattern × text).
#[must_use]
pub fn matches(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let glob = Glob { pattern, text, nocase };
    let (mut p, mut t) = (0, 0);
    while p < pattern.len() && pattern[p] != b'*' {
        let Some(next) = text.get(t).and_then(|byte| match_one(pattern, p, *byte, nocase)) else {
            return false;
        };
        (p, t) = (next, t + 1);
    }
    if p == pattern.len() {
        return t == text.len();
    }
    for _ in 0..MAX_STARS {
        let from = skip_stars(pattern, p);
        if from == pattern.len() {
            return true;
        }
        let part = Part::new(pattern, from);
        if part.end == pattern.len() {
            // Nothing follows the last star's part: it must match the end.
            let at = text.len().saturating_sub(part.elements);
            return at >= t && glob.matched(part, at) == part.elements;
        }
        // The first place is as good as any: the next star can match the bytes that this choice leaves over.
        let Some(at) = glob.find(part, t) else { return false };
        (p, t) = (part.end, at + part.elements);
    }
    // The pattern has too many stars, unless nothing but stars is left.
    skip_stars(pattern, p) == pattern.len()
}

/// The pattern between two stars, or after the last one.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    /// The number of text bytes that the part matches.
    elements: usize,
}

impl Part {
    fn new(pattern: &[u8], start: usize) -> Part {
        let (mut end, mut elements) = (start, 0);
        while end < pattern.len() && pattern[end] != b'*' {
            end = element_end(pattern, end);
            elements += 1;
        }
        Part { start, end, elements }
    }
}

#[derive(Clone, Copy)]
struct Glob<'a> {
    pattern: &'a [u8],
    text: &'a [u8],
    nocase: bool,
}

impl Glob<'_> {
    /// The number of a part's elements that match the text at `at`, up to the first that does not.
    fn matched(&self, part: Part, at: usize) -> usize {
        let mut p = part.start;
        let bytes = self.text[at..].iter().take(part.elements);
        bytes
            .take_while(|byte| match_one(self.pattern, p, **byte, self.nocase).map(|next| p = next).is_some())
            .count()
    }

    /// The first place from `from` on where a part matches.
    fn find(&self, part: Part, from: usize) -> Option<usize> {
        let last = self.text.len().checked_sub(part.elements)?;
        let mut patience = 4 * self.text.len();
        for at in from..=last {
            let matched = self.matched(part, at);
            if matched == part.elements {
                return Some(at);
            }
            if matched > patience {
                let plain = &self.pattern[part.start..part.end];
                if !plain.iter().any(|byte| matches!(byte, b'?' | b'[' | b'\\')) {
                    return self.find_plain(plain, at + 1);
                }
            }
            patience = patience.saturating_sub(matched);
        }
        None
    }

    /// Finds plain text in linear time (Knuth, Morris and Pratt). The search never goes back in the text.
    #[cold]
    fn find_plain(&self, plain: &[u8], from: usize) -> Option<usize> {
        let same = |a: u8, b: u8| same(a, b, self.nocase);
        // The length of the longest proper border of each prefix of the plain text.
        let mut ends_with = vec![0; plain.len()];
        let mut len = 0;
        for at in 1..plain.len() {
            while len > 0 && !same(plain[at], plain[len]) {
                len = ends_with[len - 1];
            }
            len += usize::from(same(plain[at], plain[len]));
            ends_with[at] = len;
        }
        let mut found = 0;
        for (at, byte) in self.text.iter().enumerate().skip(from) {
            while found > 0 && !same(plain[found], *byte) {
                found = ends_with[found - 1];
            }
            found += usize::from(same(plain[found], *byte));
            if found == plain.len() {
                return Some(at + 1 - found);
            }
        }
        None
    }
}

/// The end of the element at `p`.
fn element_end(pattern: &[u8], p: usize) -> usize {
    match pattern[p] {
        b'[' => class(pattern, p + 1, 0, false).1,
        b'\\' if p + 1 < pattern.len() => p + 2,
        _ => p + 1,
    }
}

fn skip_stars(pattern: &[u8], from: usize) -> usize {
    from + pattern[from..].iter().take_while(|byte| **byte == b'*').count()
}

/// Matches one byte with the element of the pattern at `p`; returns the start of the next element.
fn match_one(pattern: &[u8], p: usize, byte: u8, nocase: bool) -> Option<usize> {
    let literal = |at: usize| same(pattern[at], byte, nocase).then_some(at + 1);
    match *pattern.get(p)? {
        b'?' => Some(p + 1),
        b'[' => {
            let (found, end) = class(pattern, p + 1, byte, nocase);
            found.then_some(end)
        }
        b'\\' if p + 1 < pattern.len() => literal(p + 1),
        _ => literal(p),
    }
}

/// Whether a byte belongs to a class whose content begins at `p`, and the end of the class.
fn class(pattern: &[u8], mut p: usize, byte: u8, nocase: bool) -> (bool, usize) {
    let negated = pattern.get(p) == Some(&b'^');
    p += usize::from(negated);
    let mut found = false;
    loop {
        match &pattern[p.min(pattern.len())..] {
            [] => break,
            [b'\\', escaped, ..] => {
                found |= *escaped == byte;
                p += 2;
            }
            [b']', ..] => {
                p += 1;
                break;
            }
            [low, b'-', high, ..] => {
                found |= in_range(*low, *high, byte, nocase);
                p += 3;
            }
            [one, ..] => {
                found |= same(*one, byte, nocase);
                p += 1;
            }
        }
    }
    (found != negated, p)
}

fn in_range(low: u8, high: u8, byte: u8, nocase: bool) -> bool {
    let fold = |byte: u8| if nocase { byte.to_ascii_lowercase() } else { byte }.cast_signed();
    let (low, high) = if low.cast_signed() > high.cast_signed() { (high, low) } else { (low, high) };
    (fold(low)..=fold(high)).contains(&fold(byte))
}

fn same(a: u8, b: u8, nocase: bool) -> bool {
    if nocase { a.eq_ignore_ascii_case(&b) } else { a == b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pattern_matches_what_redis_matches() {
        let rows: &[(&str, &str, bool)] = &[
            ("*", "a", true),
            ("*", "", false),
            ("", "", true),
            ("", "a", false),
            ("a*", "a", true),
            ("a**", "a", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hello", true),
            ("h[^e]llo", "hello", false),
            ("h[a-b]llo", "hbllo", true),
            ("h[b-a]llo", "hbllo", true),
            ("[]a]", "]a]", false),
            ("[", "[", false),
            ("[^", "x", true),
            ("[abc", "c", true),
            ("[a-", "-", true),
            ("[a-]", "b", false),
            ("[a-]x", "]", true),
            (r"[\]]", "]", true),
            (r"\*", "*", true),
            (r"\*", "a", false),
            (r"a\", r"a\", true),
            ("*a*b*c", "xxaxxbxxc", true),
            ("*a*b*c", "xxaxxbxx", false),
            ("*aab", "aaaab", true),
            ("redisson_lock__channel:{*}", "redisson_lock__channel:{x}", true),
        ];
        for (pattern, text, expected) in rows {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes(), false), *expected, "{pattern} {text}");
        }
    }

    #[test]
    fn case_is_ignored_on_request_only() {
        assert!(!matches(b"MAX*", b"maxmemory", false));
        assert!(matches(b"MAX*", b"maxmemory", true));
        assert!(matches(b"[A-C]x", b"bX", true));
        assert!(!matches(b"[A-C]x", b"bx", false));
        // An escaped byte of a class is taken as it is.
        assert!(!matches(br"[\A]", b"a", true));
    }

    #[test]
    fn ranges_order_bytes_as_signed_ones() {
        assert!(matches(b"[a-\xff]", b"\x05", false));
        assert!(!matches(b"[a-\xff]", b"b", false));
        assert!(matches(b"[\x80-\xff]", b"\x90", false));
    }

    #[test]
    fn abusive_patterns_end_without_a_match() {
        let most = b"*a".repeat(MAX_STARS);
        assert!(matches(&most, &b"a".repeat(MAX_STARS), false));
        let more = b"*a".repeat(MAX_STARS + 1);
        assert!(!matches(&more, &b"a".repeat(MAX_STARS + 1), false));
        assert!(!matches(&b"*?".repeat(50_000), &b"a".repeat(60_000), false));
        assert!(!matches(&[&b"a*".repeat(900)[..], b"b"].concat(), &b"a".repeat(20_000), false));
    }

    /// Each pattern took seconds when every place of the text was tried.
    #[test]
    fn long_parts_are_searched_in_linear_time() {
        let (text, part) = (b"a".repeat(3_000_000), b"a".repeat(1_500_000));
        for (end, expected) in
            [(&b"b"[..], false), (b"b*", false), (b"*", true), (b"", true), (b"?*b*", false)]
        {
            let pattern = [b"*", &part[..], end].concat();
            assert_eq!(matches(&pattern, &text, false), expected, "{}", end.escape_ascii());
            assert_eq!(matches(&pattern.to_ascii_uppercase(), &text, true), expected);
        }
        let found = [&text[..], b"b", &text].concat();
        assert!(matches(&[b"*", &part[..], b"b*"].concat(), &found, false));
        assert!(matches(&[b"*", &part[..], b"B*"].concat(), &found, true));
        assert!(!matches(&[b"*", &part[..], b"bb*"].concat(), &found, false));
    }

    /// The meaning of a pattern of stars, question marks and letters, by definition.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), None) => naive(rest, text),
            (Some((b'*', rest)), Some((_, tail))) => naive(rest, text) || naive(pattern, tail),
            (Some((b'?', rest)), Some((_, tail))) => naive(rest, tail),
            (Some((letter, rest)), Some((first, tail))) => letter == first && naive(rest, tail),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn stars_mean_any_bytes(pattern in "[ab?*]{0,10}", text in "[ab]{1,12}") {
            let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(matches(pattern, text, false), naive(pattern, text));
        }

        #[test]
        fn plain_text_is_found_at_its_first_occurrence(
            plain in "[ab]{1,6}",
            text in "[ab]{1,40}",
            from in 0_usize..40,
        ) {
            let glob = Glob { pattern: b"", text: text.as_bytes(), nocase: false };
            let first = text.get(from..).and_then(|rest| rest.find(&plain)).map(|at| from + at);
            prop_assert_eq!(glob.find_plain(plain.as_bytes(), from), first);
        }

        #[test]
        fn no_pattern_crashes(
            pattern in prop::collection::vec(any::<u8>(), 0..40),
            text in prop::collection::vec(any::<u8>(), 0..40),
            nocase: bool,
        ) {
            let _ = matches(&pattern, &text, nocase);
        }

        #[test]
        fn an_escaped_text_matches_itself_alone(
            text in prop::collection::vec(any::<u8>(), 0..20),
            other in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let pattern: Vec<u8> = text.iter().flat_map(|byte| [b'\\', *byte]).collect();
            prop_assert!(matches(&pattern, &text, false));
            prop_assert_eq!(matches(&pattern, &other, false), text == other);
        }
    }
}
