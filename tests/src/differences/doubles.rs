//! Known differences of scores: their sign at zero, and their digits.

use crate::pair::{Claim, Difference, Exchange};
use crate::reply::Reply;

pub(super) const MINUS_ZERO: Difference = Difference {
    name: "minus zero",
    reason: "a sorted set in a listpack loses the sign of zero. If ZADD creates a sorted set with a long \
             member, 7.2 never uses a listpack; 7.0 uses one until it adds that member",
    claim: Claim::Redis72,
    example: &[
        "ZADD z -0 a 0 long.member:123456789.123456789.123456789.123456789.123456789.123456789",
        "ZSCORE z a",
    ],
    applies: |exchange| exchange.ours.reply.to_string().contains("-0") && differ_in_doubles(exchange),
};

pub(super) const SHORTEST_DIGITS: Difference = Difference {
    name: "doubles have their shortest digits",
    reason: "Redis 7.2 writes a double with the fewest digits that read back as the same value; 7.0 writes \
             seventeen digits",
    claim: Claim::Redis72,
    example: &["ZADD z 0.1 a", "ZSCORE z a"],
    applies: differ_in_doubles,
};

/// Whether the command answers with doubles, and only their digits differ.
fn differ_in_doubles(exchange: &Exchange<'_>) -> bool {
    let name = exchange.arguments.first().map_or(Vec::new(), |name| name.to_ascii_uppercase());
    let (real, ours) = (&exchange.real.reply, &exchange.ours.reply);
    match &*name {
        b"ZSCAN" => same_doubles(&in_order(real), &in_order(ours)),
        name => (name.starts_with(b"Z") || name.starts_with(b"BZ")) && same_doubles(real, ours),
    }
}

/// A scan's reply with its pairs sorted, because every server chooses its own order.
fn in_order(scan: &Reply) -> Reply {
    match scan {
        Reply::Array(parts) => Reply::Array(parts.iter().cloned().map(Reply::sorted_pairs).collect()),
        other => other.clone(),
    }
}

/// Whether two replies are the same except for the digits of their doubles.
fn same_doubles(real: &Reply, ours: &Reply) -> bool {
    match (real, ours) {
        (Reply::Double(real), Reply::Double(ours)) => real == ours,
        (Reply::Array(real), Reply::Array(ours)) => {
            real.len() == ours.len() && real.iter().zip(ours).all(|(real, ours)| same_doubles(real, ours))
        }
        (Reply::Bulk(real_text), Reply::Bulk(our_text)) if real_text != our_text => {
            double(real_text).is_some_and(|real| double(our_text) == Some(real))
        }
        _ => real == ours,
    }
}

/// The digits that 7.0 writes of a double that is no short decimal.
const DIGITS_OF_7_0: usize = 17;

/// Whether two replies or contents are the same except for doubles that 7.0 wrote with seventeen digits, anywhere in
/// them.
pub fn same_but_digits(real: &Reply, ours: &Reply) -> bool {
    let all = |real: &[Reply], ours: &[Reply]| {
        real.len() == ours.len() && real.iter().zip(ours).all(|(real, ours)| same_but_digits(real, ours))
    };
    match (real, ours) {
        (Reply::Array(real), Reply::Array(ours)) | (Reply::Set(real), Reply::Set(ours)) => all(real, ours),
        (Reply::Map(real), Reply::Map(ours)) => {
            let pairs = real.iter().zip(ours);
            real.len() == ours.len()
                && pairs.clone().all(|(real, ours)| {
                    same_but_digits(&real.0, &ours.0) && same_but_digits(&real.1, &ours.1)
                })
        }
        (Reply::Bulk(real_text), Reply::Bulk(our_text)) if real_text != our_text => {
            let long = real_text.iter().filter(|byte| byte.is_ascii_digit()).count() >= DIGITS_OF_7_0;
            long && double(real_text).is_some_and(|real| double(our_text) == Some(real))
        }
        _ => real == ours,
    }
}

fn double(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.into())
    }

    fn scan(pairs: &[&str]) -> Reply {
        Reply::Array(vec![bulk("0"), Reply::Array(pairs.iter().map(|text| bulk(text)).collect())])
    }

    #[test]
    fn the_order_of_a_scan_is_ignored() {
        let real = in_order(&scan(&["a", "0", "b", "1"]));
        assert!(same_doubles(&real, &in_order(&scan(&["b", "1", "a", "-0"]))));
        assert!(!same_doubles(&real, &in_order(&scan(&["b", "0", "a", "1"]))));
    }
}
