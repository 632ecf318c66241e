//! `CL.THROTTLE`: redis-cell's rate limiter, the generic cell rate algorithm. The key holds the theoretical arrival
//! time of the next cell in nanoseconds since the epoch, and ends with it.

use super::key_changes;
use crate::spec::{
    Args, CommandError, CommandGrammar, DataHandler, Flags, KeyFlags, KeySpec, Outcome, ParsedArgs, Row,
    Symbol, grammar,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{Str, Value};

const NS_PER_SECOND: i128 = 1_000_000_000;
const NS_PER_MS: i128 = 1_000_000;

const THROTTLE: &CommandGrammar = grammar!("key max-burst:0.. count:1.. seconds:1.. [quantity:0..]");

const MAX_BURST: Symbol = THROTTLE.symbol("max-burst");
const COUNT: Symbol = THROTTLE.symbol("count");
const SECONDS: Symbol = THROTTLE.symbol("seconds");
const QUANTITY: Symbol = THROTTLE.symbol("quantity");

const ARRIVAL: CommandError =
    CommandError::text("ERR the value of the key is not an arrival time of CL.THROTTLE");
const TOO_LONG: CommandError = CommandError::text("ERR max-burst or quantity is too large for this rate");

pub(super) const ROWS: &[Row<DataHandler>] = &[
    Row::new("cl.throttle", -5, throttle as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST])
        .categories(&["lock"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
        .about("lock", "7.2.0", "O(1)")
        .summary("Limits the rate of actions with the generic cell rate algorithm, as redis-cell does.")
        .reply(
            "An array of five integers: 1 if the action is limited, else 0; the limit; the \
             actions that are left; the seconds until a retry, or -1; the seconds until all of \
             the limit is left.",
        )
        .options(&[&[
            ("max-burst", "The actions above the rate that are allowed at once."),
            ("count", "The actions that are allowed in a period."),
            ("seconds", "The length of the period."),
            ("quantity", "The number of actions of this request, 1 by default. 0 only looks."),
        ]])
        .example(&["CL.THROTTLE user:123 15 30 60", "CL.THROTTLE user:123 15 30 60 16"])
        .help(&[
            "CL.THROTTLE <key> <max-burst> <count> <seconds> [<quantity>]",
            "    Limit actions to a count per period, plus a burst. Return whether this action is limited,",
            "    the limit, the actions left, and the seconds until a retry and until all are free.",
        ])
        .grammar(THROTTLE)
        .errors(&[
            "ERR syntax error: *",
            "ERR value is out of range, must be positive: *",
            "ERR value is not an integer or out of range: *",
            "ERR the value of the key is not an arrival time of CL.THROTTLE",
            "ERR max-burst or quantity is too large for this rate",
        ]),
    Row::help_command("cl.help", 1)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["lock"])
        .about("lock", "7.2.0", "O(1)")
        .summary("Explains CL.THROTTLE."),
];

/// A rate and its burst, in nanoseconds.
struct Quota {
    /// The number of cells that may come at once.
    limit: i128,
    /// The time of one cell, in nanoseconds.
    emission_ns: i128,
}

/// The decision about a request.
#[derive(Debug, PartialEq, Eq)]
struct ThrottleDecision {
    is_limited: bool,
    remaining: i128,
    /// The time until a retry. `None`: the request is allowed, or never will be.
    retry_after_ns: Option<i128>,
    reset_after_ns: i128,
    /// The theoretical arrival time afterwards.
    arrival_ns: i128,
}

impl Quota {
    /// Decides whether `quantity` cells may come now, if the next cell was to arrive at `arrival_ns`.
    fn judge(&self, arrival_ns: Option<i128>, now_ns: i128, quantity: i128) -> ThrottleDecision {
        let tolerance = self.emission_ns * self.limit;
        let increment = self.emission_ns * quantity;
        let arrival = arrival_ns.unwrap_or(now_ns).max(now_ns);
        let next = arrival + increment;
        let missing = next - tolerance - now_ns;
        let is_limited = missing > 0;
        let arrival_ns = if is_limited { arrival } else { next };
        let reset_after_ns = arrival_ns - now_ns;
        ThrottleDecision {
            is_limited,
            remaining: ((tolerance - reset_after_ns) / self.emission_ns).max(0),
            retry_after_ns: (is_limited && increment <= tolerance).then_some(missing),
            reset_after_ns,
            arrival_ns,
        }
    }
}

/// Returns whole seconds, rounded up, so that a client that retries after them is not too early.
fn seconds(ns: i128) -> i64 {
    clamp((ns + NS_PER_SECOND - 1).div_euclid(NS_PER_SECOND))
}

fn clamp(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn throttle(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let key = &args[1];
    let given: ParsedArgs<'_> = THROTTLE.parse(args)?;
    let number = |symbol| given.integer(symbol).map(|number| number.map_or(1, i128::from));
    let (burst, count, period) = (number(MAX_BURST)?, number(COUNT)?, number(SECONDS)?);
    let quantity = number(QUANTITY)?;
    // The highest rate is one cell in a nanosecond.
    let quota = Quota { limit: burst + 1, emission_ns: (period * NS_PER_SECOND / count).max(1) };
    if quota.emission_ns.checked_mul(quota.limit.max(quantity)).is_none_or(|ns| ns > i128::MAX / 4) {
        return Err(TOO_LONG);
    }
    let now_ns = i128::from(tx.now().wall_us) * 1000;
    let arrival = tx.read::<Str>(key)?.map(|text| text.text().to_vec());
    let arrival =
        arrival.map(|text| std::str::from_utf8(&text).ok().and_then(|text| text.parse::<i128>().ok()));
    let arrival = match arrival {
        None => None,
        Some(read) => Some(read.filter(|ns| *ns <= i128::MAX / 4).ok_or(ARRIVAL)?),
    };
    let verdict = quota.judge(arrival, now_ns, quantity);
    if !verdict.is_limited && quantity > 0 {
        let text = verdict.arrival_ns.to_string();
        tx.set(key, Value::Str(Str::new(text.as_bytes())), false);
        tx.changed(key, events::SET);
        tx.propagate_key(key, &[KeyRequest::Set(text.as_bytes())]);
        key_changes::set_deadline(tx, key, clamp((verdict.arrival_ns + NS_PER_MS - 1) / NS_PER_MS));
    }
    reply.array(5);
    for number in [
        i64::from(verdict.is_limited),
        clamp(quota.limit),
        clamp(verdict.remaining),
        verdict.retry_after_ns.map_or(-1, seconds),
        seconds(verdict.reset_after_ns),
    ] {
        reply.integer(number);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn throttle_replies_equal_the_documented_example() {
        // 15 in reserve, 30 in 60 seconds: 16 at once, one more every 2 seconds.
        let quota = Quota { limit: 16, emission_ns: 2 * NS_PER_SECOND };
        let first = quota.judge(None, 0, 1);
        assert_eq!((first.is_limited, first.remaining, seconds(first.reset_after_ns)), (false, 15, 2));
        let all = quota.judge(None, 0, 16);
        assert_eq!((all.is_limited, all.remaining, seconds(all.reset_after_ns)), (false, 0, 32));
        let more = quota.judge(Some(all.arrival_ns), 1, 1);
        assert_eq!((more.is_limited, more.remaining), (true, 0));
        assert_eq!(more.retry_after_ns.map(seconds), Some(2));
        assert_eq!(quota.judge(None, 0, 17).retry_after_ns, None);
    }

    proptest! {
        /// No span of time has more cells than the burst and the rate over that span.
        #[test]
        fn no_interval_exceeds_the_rate_and_the_burst(
            limit in 1_i128..6,
            emission_ns in 1_i128..50,
            steps in prop::collection::vec((0_i128..60, 0_i128..7), 1..80),
        ) {
            let quota = Quota { limit, emission_ns };
            let (mut now, mut arrival, mut taken) = (1000, None, Vec::new());
            for (pause, quantity) in steps {
                now += pause;
                let verdict = quota.judge(arrival, now, quantity);
                prop_assert!((0..=limit).contains(&verdict.remaining));
                if verdict.is_limited {
                    prop_assert!(arrival == Some(verdict.arrival_ns) || quantity > limit);
                    if let Some(retry) = verdict.retry_after_ns {
                        prop_assert!(quota.judge(arrival, now + retry - 1, quantity).is_limited);
                        prop_assert!(!quota.judge(arrival, now + retry, quantity).is_limited);
                    }
                    continue;
                }
                arrival = Some(verdict.arrival_ns);
                taken.push((now, quantity));
                for (at, &(since, _)) in taken.iter().enumerate() {
                    let sum: i128 = taken[at..].iter().map(|(_, quantity)| quantity).sum();
                    prop_assert!(sum * emission_ns <= limit * emission_ns + (now - since));
                }
            }
        }
    }
}
