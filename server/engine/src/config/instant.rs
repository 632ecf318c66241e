//! Instants as RFC 3339 writes them, to the millisecond.

const MS_PER_DAY: i64 = 86_400_000;

/// Milliseconds since the Unix epoch of an instant like `2030-01-01T00:00:00Z` or `2030-01-01T01:30:00.25+01:30`;
/// further decimals are cut off. `None` when it is none, or before 1970.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    let (date_time, rest) = text.split_at_checked(19)?;
    let (fraction_ms, zone) = split_fraction(rest)?;
    let [year, month, day, hour, minute, second] = fields(date_time)?;
    let valid = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !valid || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    let local_ms = days_from_epoch(year, month, day) * MS_PER_DAY + seconds * 1000 + fraction_ms;
    Some(local_ms - offset_ms(zone)?).filter(|ms| *ms >= 0)
}

/// The instant in UTC, with decimals where it is not a whole second.
pub(super) fn format(ms: i64) -> String {
    let (days, of_day) = (ms.div_euclid(MS_PER_DAY), ms.rem_euclid(MS_PER_DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    let fraction = match of_day % 1000 {
        0 => String::new(),
        fraction_ms => format!(".{fraction_ms:03}"),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// The instant in UTC as the lines of Redis' log begin: `21 Nov 2026 10:24:16.301`.
pub fn log_stamp(ms: i64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, of_day) = (ms.div_euclid(MS_PER_DAY), ms.rem_euclid(MS_PER_DAY));
    let (year, month, day) = date(days);
    let month = MONTHS[month as usize - 1];
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    format!("{day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02}.{:03}", of_day % 1000)
}

/// Year, month, day, hour, minute and second of `YYYY-MM-DDTHH:MM:SS`.
fn fields(text: &[u8]) -> Option<[i64; 6]> {
    for (at, separators) in [(4, "-"), (7, "-"), (10, "Tt "), (13, ":"), (16, ":")] {
        separators.as_bytes().contains(&text[at]).then_some(())?;
    }
    let mut fields = [0; 6];
    for (field, (start, end)) in
        fields.iter_mut().zip([(0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)])
    {
        *field = digits(&text[start..end])?;
    }
    Some(fields)
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// The milliseconds of a fraction `.25`, if there is one, and what follows it.
fn split_fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(fraction) = text.strip_prefix(b".") else { return Some((0, text)) };
    let len = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = fraction.split_at(len);
    let mut ms = [b'0'; 3];
    let kept = len.min(3);
    ms[..kept].copy_from_slice(&fraction[..kept]);
    (len > 0).then_some((digits(&ms)?, rest))
}

/// How far `Z` or `+HH:MM` is ahead of UTC.
fn offset_ms(zone: &[u8]) -> Option<i64> {
    let (sign, hour, minute) = match zone {
        b"Z" | b"z" => return Some(0),
        [sign @ (b'+' | b'-'), hour @ .., b':', m, n] if hour.len() == 2 => {
            (sign, digits(hour)?, digits(&[*m, *n])?)
        }
        _ => return None,
    };
    if hour > 23 || minute > 59 {
        return None;
    }
    let ms = (hour * 60 + minute) * 60_000;
    Some(if *sign == b'-' { -ms } else { ms })
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap day is
/// their last.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    /// From 0000-03-01 to 1970-01-01.
    const TO_EPOCH: i64 = 719_468;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - TO_EPOCH
}

/// The date that is so many days after 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    // The mean year is a little longer than 365 days: this is the year, or the one after it.
    let mut year = 1970 + days.div_euclid(365);
    while days_from_epoch(year, 1, 1) > days {
        year -= 1;
    }
    let mut month = 12;
    while days_from_epoch(year, month, 1) > days {
        month -= 1;
    }
    (year, month, days - days_from_epoch(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_of_the_log_begins_with_its_instant() {
        assert_eq!(log_stamp(1_795_256_656_301), "21 Nov 2026 10:24:16.301");
        assert_eq!(log_stamp(0), "01 Jan 1970 00:00:00.000");
    }

    #[test]
    fn instants_are_read() {
        let cases: &[(&str, Option<i64>)] = &[
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.001Z", Some(1)),
            ("2000-02-29T12:30:15Z", Some(951_827_415_000)),
            ("2030-01-01T00:00:00Z", Some(1_893_456_000_000)),
            ("2030-01-01 00:00:00z", Some(1_893_456_000_000)),
            ("2030-01-01T01:30:00.2599+01:30", Some(1_893_456_000_259)),
            ("2029-12-31T19:00:00-05:00", Some(1_893_456_000_000)),
            ("9999-12-31T23:59:59.999Z", Some(253_402_300_799_999)),
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
        fn what_is_written_is_read_back(ms in 0..253_402_300_800_000_i64) {
            prop_assert_eq!(parse(format(ms).as_bytes()), Some(ms));
        }

        #[test]
        fn a_day_follows_a_day(day in 0..2_932_896_i64) {
            let (year, month, in_month) = date(day);
            let next = if in_month < days_in(year, month) {
                (year, month, in_month + 1)
            } else if month < 12 {
                (year, month + 1, 1)
            } else {
                (year + 1, 1, 1)
            };
            prop_assert_eq!(date(day + 1), next);
        }

        #[test]
        fn nothing_makes_it_panic(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            parse(&text);
        }
    }
}
