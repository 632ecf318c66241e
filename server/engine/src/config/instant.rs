//! Instants in the format of RFC 3339, to the millisecond.

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;

/// Returns the milliseconds since the Unix epoch of an instant such as `2030-01-01T00:00:00Z` or
/// `2030-01-01T01:30:00.25+01:30`. Returns `None` if the text is no instant, before 1970, after
/// 9999-12-30T21:59:59.999Z, or finer than a millisecond.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    // The calendar's parser also accepts leap seconds, dates without separators, annotations, far zones.
    let (date_time, zone) = text.split_at_checked("2030-01-01T00:00:00".len())?;
    let is_separated =
        date_time.iter().enumerate().all(|(at, byte)| byte.is_ascii_digit() != is_separator(at));
    let has_zone = match zone {
        [.., b'+' | b'-', tens, ones, b':', _, _] => [*tens, *ones] < *b"24",
        _ => matches!(zone.last(), Some(b'Z' | b'z')),
    };
    if !is_separated || !has_zone || date_time.ends_with(b"60") {
        return None;
    }
    let instant = DateTimeParser::new().parse_timestamp(text).ok()?;
    let is_whole = instant.subsec_nanosecond() % 1_000_000 == 0;
    Some(instant.as_millisecond()).filter(|ms| *ms >= 0 && is_whole)
}

/// Whether a separator, and not a digit, stands at this place of `YYYY-MM-DDTHH:MM:SS`.
fn is_separator(at: usize) -> bool {
    matches!(at, 4 | 7 | 10 | 13 | 16)
}

/// The instant in UTC, with decimals if it is not a whole second. `ms` is a result of [`parse`].
pub(super) fn format(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |instant| instant.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn instants_are_read() {
        let cases: &[(&str, Option<i64>)] = &[
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.001Z", Some(1)),
            ("2000-02-29T12:30:15Z", Some(951_827_415_000)),
            ("2030-01-01T00:00:00Z", Some(1_893_456_000_000)),
            ("2030-01-01 00:00:00z", Some(1_893_456_000_000)),
            ("2030-01-01T01:30:00.259000+01:30", Some(1_893_456_000_259)),
            ("2030-01-01T01:30:00.2599+01:30", None),
            ("2030-01-01T00:00:00.0005Z", None),
            ("9999-12-31T23:59:59Z", None),
            ("2029-12-31T19:00:00-05:00", Some(1_893_456_000_000)),
            ("9999-12-30T21:59:59.999Z", Some(253_402_207_199_999)),
            ("1969-12-31T23:59:59Z", None),
            ("1970-01-01T00:00:00+00:01", None),
            ("1900-02-29T00:00:00Z", None),
            ("2030-13-01T00:00:00Z", None),
            ("2030-00-01T00:00:00Z", None),
            ("2030-04-31T00:00:00Z", None),
            ("2030-01-01T24:00:00Z", None),
            ("2030-01-01T00:60:00Z", None),
            ("2030-01-01T00:00:60Z", None),
            ("2030-01-01T00:00:00", None),
            ("2030-01-01T00:00:00.Z", None),
            ("2030-01-01T00:00:00+24:00", None),
            ("2030-01-01T00:00:00+1:00", None),
            ("2030-01-01T00:00:00Z ", None),
            ("2030-1-01T00:00:00Z", None),
            ("2030-01-01", None),
            ("", None),
            ("real", None),
        ];
        for (text, ms) in cases {
            assert_eq!(parse(text.as_bytes()), *ms, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_written_instant_is_read_back(ms in 0..253_402_207_200_000_i64) {
            prop_assert_eq!(parse(format(ms).as_bytes()), Some(ms));
        }

        #[test]
        fn no_input_makes_parsing_panic(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            parse(&text);
        }
    }
}
