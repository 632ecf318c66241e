//! Dates in the format of a sentinel's log.

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The days in 400 years of the Gregorian calendar.
const ERA_DAYS: i64 = 146_097;
/// The days from 1 March of the year 0 to 1 January 1970.
const EPOCH_DAYS: i64 = 719_468;

/// An instant, in milliseconds since 1970, in the format of C's `ctime`: in UTC, since the engine knows no time zone.
pub(super) fn date_of(wall_ms: i64) -> String {
    let seconds = wall_ms.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + EPOCH_DAYS;
    let (era, day_of_era) = (shifted.div_euclid(ERA_DAYS), shifted.rem_euclid(ERA_DAYS));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // The years here begin in March.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = year_of_era + era * 400 + i64::from(month >= 10);
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year}",
        DAYS[(days + 4).rem_euclid(7) as usize],
        MONTHS[(month + 2) as usize % 12],
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_formatted_as_by_ctime() {
        assert_eq!(date_of(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(date_of(951_782_400_999), "Tue Feb 29 00:00:00 2000");
        assert_eq!(date_of(951_868_799_000), "Tue Feb 29 23:59:59 2000");
        assert_eq!(date_of(1_700_000_000_000), "Tue Nov 14 22:13:20 2023");
        assert_eq!(date_of(4_107_542_399_000), "Sun Feb 28 23:59:59 2100");
        assert_eq!(date_of(4_107_542_400_000), "Mon Mar  1 00:00:00 2100");
    }
}
