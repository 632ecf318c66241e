//! SCAN, and the parts that it shares with HSCAN, SSCAN and ZSCAN: cursors, options, pages.

use crate::spec::{Args, CommandError, DataHandler, Flags, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation, number};
use lockwheel_store::keyspace::{Tx, glob};

pub(super) const ROWS: &[Row<DataHandler>] = &[Row::new("scan", -2, scan as DataHandler)
    .flags(&[Flags::READONLY])
    .categories(&["keyspace"])
    .about(
        "generic",
        "2.8.0",
        "O(1) for every call. O(N) for a complete iteration, including enough command calls for the \
             cursor to return back to 0. N is the number of elements inside the collection.",
    )
    .summary("Goes through the keys of the database, a page at a time.")
    .history(&[("6.0.0", "Added the `TYPE` subcommand.")])
    .syntax("cursor [MATCH pattern] [COUNT count] [TYPE type@6.0.0]")
    .tips(&["nondeterministic_output", "request_policy:special"])
    .errors(&["ERR invalid cursor", "ERR syntax error", "ERR value is not an integer or out of range"])];

/// The number of elements that a call visits by default.
const COUNT_DEFAULT: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScanOptions<'a> {
    /// The least number of elements to visit, at least 1.
    pub(super) count: usize,
    pattern: Option<&'a [u8]>,
    type_name: Option<&'a [u8]>,
}

impl<'a> ScanOptions<'a> {
    /// Reads MATCH and COUNT of HSCAN, SSCAN or ZSCAN, from argument `from` on. Redis checks the cursor first, then
    /// that the key exists and has the right type, and then these. Fails with a syntax error for an unknown option, an
    /// option without its value, or a COUNT below 1, and otherwise for a COUNT that is no integer.
    pub(super) fn of_collection(args: Args<'a>, from: usize) -> Result<Self, CommandError> {
        Self::parse(args, from, false)
    }

    fn parse(args: Args<'a>, from: usize, with_type: bool) -> Result<Self, CommandError> {
        let mut options = ScanOptions { count: COUNT_DEFAULT, pattern: None, type_name: None };
        for at in (from..args.len()).step_by(2) {
            let value = args.get(at + 1).ok_or(errors::SYNTAX)?;
            if args.is(at, "count") {
                let count = args.int_in(at + 1, 1, i64::MAX, errors::SYNTAX)?;
                options.count = usize::try_from(count).unwrap_or(usize::MAX);
            } else if args.is(at, "match") {
                // A lone star matches every name. As a pattern it would not match the empty name.
                options.pattern = Some(value).filter(|pattern| *pattern != b"*");
            } else if with_type && args.is(at, "type") {
                options.type_name = Some(c_text(value));
            } else {
                return Err(errors::SYNTAX);
            }
        }
        Ok(options)
    }

    /// Whether an element of this name belongs on the page.
    pub(super) fn wants(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, name, false))
    }

    /// Whether a key of this type belongs on the page. An unknown type matches no key.
    fn wants_type(&self, type_name: &str) -> bool {
        self.type_name.is_none_or(|wanted| wanted.eq_ignore_ascii_case(type_name.as_bytes()))
    }
}

/// Argument `index` as a cursor, read as by C's `strtoul` in Redis 7.2: a sign and leading zeros are allowed, an empty
/// text is 0. Fails with `invalid cursor` for any other text, a space in front, or more than 64 bits.
pub(super) fn parse_cursor(args: Args<'_>, index: usize) -> Result<u64, CommandError> {
    let text = c_text(args.get(index).unwrap_or_default());
    if text.is_empty() {
        return Ok(0);
    }
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let add = |value: u64, byte: &u8| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    };
    match digits.iter().try_fold(0, add) {
        Some(value) if !digits.is_empty() => Ok(if negative { value.wrapping_neg() } else { value }),
        _ => Err(errors::INVALID_CURSOR),
    }
}

/// The bytes up to the first NUL, where Redis stops reading some words.
fn c_text(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Begins the reply to a scan: the next cursor (0 at the end), and the header of `len` bulk strings to follow.
pub(super) fn begin_page(cursor: u64, len: usize, reply: &mut dyn Reply) {
    let mut digits = Vec::with_capacity(20);
    // A cursor has at most 53 bits.
    number::write_i64(cursor as i64, &mut digits);
    reply.array(2);
    reply.bulk(&digits);
    reply.array(len);
}

pub(super) fn empty_page(reply: &mut dyn Reply) -> Outcome {
    begin_page(0, 0, reply);
    Ok(())
}

fn scan(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let cursor = parse_cursor(args, 1)?;
    let options = ScanOptions::parse(args, 2, true)?;
    let mut page = Vec::new();
    let next = tx.scan(cursor, options.count, &mut |key, value| {
        if options.wants_type(value.type_name()) && options.wants(key) {
            allocation::push(&mut page, key);
        }
    });
    begin_page(next, page.len(), reply);
    page.iter().for_each(|key| reply.bulk(key));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cursor(text: &[u8]) -> Result<u64, CommandError> {
        parse_cursor(Args::new(&[b"scan", text]), 1)
    }

    fn options<'a>(words: &'a [&'a [u8]]) -> Result<ScanOptions<'a>, CommandError> {
        ScanOptions::parse(Args::new(words), 0, true)
    }

    #[test]
    fn cursors_are_read_as_the_real_server_reads_them() {
        for (text, expected) in [
            ("", 0),
            ("0", 0),
            ("-0", 0),
            ("+0", 0),
            ("007", 7),
            ("0\0x", 0),
            ("-1", u64::MAX),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(cursor(text.as_bytes()), Ok(expected), "{text:?}");
        }
        for text in [
            "x",
            "0x",
            " 0",
            "0 ",
            "+",
            "-",
            "--1",
            "18446744073709551616",
            "-18446744073709551616",
            "\u{b2}",
        ] {
            assert_eq!(cursor(text.as_bytes()), Err(errors::INVALID_CURSOR), "{text:?}");
        }
    }

    #[test]
    fn the_last_repeated_option_counts_and_each_is_checked() {
        let found =
            options(&[b"match", b"a*", b"COUNT", b"7", b"Match", b"b*", b"TYPE", b"hash\0x"]).unwrap();
        assert_eq!(found, ScanOptions { count: 7, pattern: Some(b"b*"), type_name: Some(b"hash") });
        assert!(found.wants(b"b1") && !found.wants(b"a1"));
        assert!(found.wants_type("hash") && !found.wants_type("set"));
        assert_eq!(options(&[b"count", b"0"]), Err(errors::SYNTAX));
        assert_eq!(options(&[b"count", b"x", b"count", b"1"]), Err(errors::NOT_AN_INTEGER));
        assert_eq!(options(&[b"count"]), Err(errors::SYNTAX));
        assert_eq!(options(&[b"nope", b"1"]), Err(errors::SYNTAX));
        let typed: [&[u8]; 2] = [b"type", b"hash"];
        assert_eq!(ScanOptions::of_collection(Args::new(&typed), 0), Err(errors::SYNTAX));
    }

    #[test]
    fn the_pattern_star_matches_an_empty_name() {
        assert!(options(&[b"match", b"*"]).unwrap().wants(b""));
        assert!(!options(&[b"match", b"**"]).unwrap().wants(b""));
    }

    proptest! {
        #[test]
        fn a_cursor_is_read_back(value: u64, zeros in "0{0,9}") {
            prop_assert_eq!(cursor(value.to_string().as_bytes()), Ok(value));
            prop_assert_eq!(cursor(format!("+{zeros}{value}").as_bytes()), Ok(value));
            prop_assert_eq!(cursor(format!("-{value}").as_bytes()), Ok(value.wrapping_neg()));
        }

        #[test]
        fn no_cursor_crashes(text in prop::collection::vec(any::<u8>(), 0..30)) {
            let _ = cursor(&text);
        }
    }
}
