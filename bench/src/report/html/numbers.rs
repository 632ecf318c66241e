//! Numbers in a readable form.

/// Formats a number with three significant digits.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => grouped(value),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Formats a whole number with its digits in groups of three.
pub(super) fn grouped(value: f64) -> String {
    let plain = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 { format!("-{text}") } else { text }
}

/// Formats a time in microseconds, in a suitable unit.
pub(super) fn time(us: f64) -> String {
    match us.abs() {
        size if size >= 999_500.0 => format!("{} s", digits(us / 1e6)),
        size if size >= 999.5 => format!("{} ms", digits(us / 1e3)),
        size if size >= 10.0 => format!("{us:.0} µs"),
        _ => format!("{us:.1} µs"),
    }
}

/// Formats a number of bytes, in a suitable unit.
pub(super) fn bytes(count: f64) -> String {
    match count {
        count if count >= 1024.0 * 1024.0 * 1024.0 => format!("{} GiB", digits(count / 1024f64.powi(3))),
        count if count >= 1024.0 * 1024.0 => format!("{} MiB", digits(count / 1024f64.powi(2))),
        count if count >= 1024.0 => format!("{} KiB", digits(count / 1024.0)),
        count => format!("{count:.0} B"),
    }
}

/// Formats a power of ten of microseconds: `100 µs`, `1 ms`.
pub(super) fn decade(power: i32) -> String {
    let (unit, power) = match power {
        ..3 => ("µs", power),
        3..6 => ("ms", power - 3),
        _ => ("s", power - 6),
    };
    format!("{} {unit}", 10f64.powi(power))
}
