//! The requests of the algebra commands.

use super::combine::Aggregate;
use crate::spec::{Args, CommandError, errors};
use lockwheel_resp::number;

#[derive(Clone, Copy, Debug)]
pub(super) struct Takes {
    pub(super) weights: bool,
    pub(super) with_scores: bool,
    pub(super) limit: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AlgebraOptions {
    /// One weight for each key. Empty: 1 for all.
    pub(super) weights: Vec<f64>,
    pub(super) aggregate: Aggregate,
    pub(super) with_scores: bool,
    /// The most members that are counted. 0: no limit.
    pub(super) limit: usize,
}

/// Reads the keys, as many as argument `at` says (at least one); returns them and the place behind them, or fails.
pub(super) fn keys<'a>(
    args: Args<'a>,
    at: usize,
    name: &str,
) -> Result<(&'a [&'a [u8]], usize), CommandError> {
    let count = args.int(at)?;
    if count < 1 {
        return Err(CommandError::new(format!("ERR at least 1 input key is needed for '{name}' command")));
    }
    let count = usize::try_from(count).map_err(|_| errors::SYNTAX)?;
    let (keys, _) = args.from(at + 1).split_at_checked(count).ok_or(errors::SYNTAX)?;
    Ok((keys, at + 1 + count))
}

impl AlgebraOptions {
    /// Reads the options from argument `at` on, of a request with `keys` keys. Fails for an option that the command
    /// does not take, or that lacks its values.
    pub(super) fn parse(
        args: Args<'_>,
        mut at: usize,
        keys: usize,
        takes: Takes,
    ) -> Result<Self, CommandError> {
        let mut options = AlgebraOptions::default();
        while at < args.len() {
            let left = args.len() - at;
            at += if takes.weights && left > keys && args.is(at, "weights") {
                options.weights = weights(args.from(at + 1), keys)?;
                1 + keys
            } else if takes.weights && left >= 2 && args.is(at, "aggregate") {
                options.aggregate = aggregate(args, at + 1)?;
                2
            } else if takes.with_scores && args.is(at, "withscores") {
                options.with_scores = true;
                1
            } else if takes.limit && left >= 2 && args.is(at, "limit") {
                options.limit = limit(args, at + 1)?;
                2
            } else {
                return Err(errors::SYNTAX);
            };
        }
        Ok(options)
    }
}

fn weights(words: &[&[u8]], keys: usize) -> Result<Vec<f64>, CommandError> {
    let weight = |word: &&[u8]| number::parse_f64(word).ok_or(errors::WEIGHT_NOT_A_FLOAT);
    words.iter().take(keys).map(weight).collect()
}

fn aggregate(args: Args<'_>, at: usize) -> Result<Aggregate, CommandError> {
    let words = [("sum", Aggregate::Sum), ("min", Aggregate::Min), ("max", Aggregate::Max)];
    let found = words.iter().find(|(word, _)| args.is(at, word));
    found.map(|(_, aggregate)| *aggregate).ok_or(errors::SYNTAX)
}

fn limit(args: Args<'_>, at: usize) -> Result<usize, CommandError> {
    let limit = args.get(at).and_then(number::parse_i64);
    limit.and_then(|limit| usize::try_from(limit).ok()).ok_or(errors::LIMIT_NEGATIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Takes = Takes { weights: true, with_scores: true, limit: true };

    fn options(line: &str, keys: usize) -> Result<AlgebraOptions, CommandError> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        AlgebraOptions::parse(Args::new(&words), 0, keys, ALL)
    }

    #[test]
    fn the_last_of_repeated_options_counts() {
        let two =
            options("weights 1 2 AGGREGATE min Weights 3 inf aggregate MAX limit 1 LIMIT 7", 2).unwrap();
        let weights = vec![3.0, f64::INFINITY];
        assert_eq!(two, AlgebraOptions { weights, aggregate: Aggregate::Max, with_scores: false, limit: 7 });
        assert!(options("withscores WITHSCORES", 1).unwrap().with_scores);
    }

    #[test]
    fn errors_equal_those_of_redis() {
        for (line, error) in [
            ("weights 1", errors::SYNTAX),
            ("weights 1 x", errors::WEIGHT_NOT_A_FLOAT),
            ("weights 1 nan", errors::WEIGHT_NOT_A_FLOAT),
            ("weights 1 2 3", errors::SYNTAX),
            ("aggregate", errors::SYNTAX),
            ("aggregate avg", errors::SYNTAX),
            ("limit", errors::SYNTAX),
            ("limit -1", errors::LIMIT_NEGATIVE),
            ("limit x", errors::LIMIT_NEGATIVE),
        ] {
            assert_eq!(options(line, 2), Err(error), "{line}");
        }
    }
}
