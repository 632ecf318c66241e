//! Glob patterns as Redis reads them, for KEYS, SCAN, PSUBSCRIBE, CONFIG GET and ACL rules.

/// More stars than this match nothing: Redis refuses abusive patterns the same way.
const MOST_STARS: usize = 1000;

/// Whether `text` matches `pattern`: `*` any bytes, `?` one byte, `[a-c]`, `[^a]` one of a class, `\` takes the next
/// byte as it is. With `nocase`, ASCII letters match in either case.
///
/// The oddities are those of Redis: a class that is not closed ends with the pattern, a range may be written
/// backwards and orders its bytes as signed ones, an empty text is matched by the empty pattern alone (that KEYS and
/// SCAN list every key for `*`, the empty one too, is a rule of theirs).
///
/// Neither recursion nor allocation; at most O(pattern × text), and O(pattern + text) with a single star.
#[must_use]
pub fn matches(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    // The pattern behind the last star, and where the text that it is tried on began. An earlier star need not be
    // gone back to: whatever it gave up, the last one can take.
    let mut star: Option<(usize, usize)> = None;
    let mut stars = 0;
    loop {
        if t == text.len() {
            if t > 0 {
                p = skip_stars(pattern, p);
            }
            // A longer text for the last star leaves a shorter one for the rest: nothing more to try.
            return p == pattern.len();
        }
        if pattern.get(p) == Some(&b'*') {
            p = skip_stars(pattern, p);
            stars += 1;
            if p == pattern.len() {
                return true;
            }
            if stars > MOST_STARS {
                return false;
            }
            star = Some((p, t));
        } else if let Some(next) = match_one(pattern, p, text[t], nocase) {
            (p, t) = (next, t + 1);
        } else if let Some((behind, start)) = star {
            (p, t) = (behind, start + 1);
            star = Some((p, t));
        } else {
            return false;
        }
    }
}

fn skip_stars(pattern: &[u8], from: usize) -> usize {
    from + pattern[from..].iter().take_while(|byte| **byte == b'*').count()
}

/// Matches one byte with the element of the pattern at `p`; returns where the next element begins.
fn match_one(pattern: &[u8], p: usize, byte: u8, nocase: bool) -> Option<usize> {
    let literal = |at: usize| same(pattern[at], byte, nocase).then_some(at + 1);
    match *pattern.get(p)? {
        b'?' => Some(p + 1),
        b'[' => match_class(pattern, p + 1, byte, nocase),
        b'\\' if p + 1 < pattern.len() => literal(p + 1),
        _ => literal(p),
    }
}

/// The same for a class, whose inside begins at `p`.
fn match_class(pattern: &[u8], mut p: usize, byte: u8, nocase: bool) -> Option<usize> {
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
    (found != negated).then_some(p)
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
    fn matches_what_redis_matches() {
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
    fn abusive_patterns_match_nothing_and_end() {
        let most = b"*a".repeat(MOST_STARS);
        assert!(matches(&most, &b"a".repeat(MOST_STARS), false));
        let more = b"*a".repeat(MOST_STARS + 1);
        assert!(!matches(&more, &b"a".repeat(MOST_STARS + 1), false));
        assert!(!matches(&b"*?".repeat(50_000), &b"a".repeat(60_000), false));
        assert!(!matches(&[&b"a*".repeat(900)[..], b"b"].concat(), &b"a".repeat(20_000), false));
    }

    /// What a pattern of stars, question marks and letters means, by definition.
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
