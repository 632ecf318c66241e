//! The requests for random elements, and their answers.

use super::draw::{Draw, Pool, check_choice, draw, one};
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Protocol, Reply, allocation};
use lockwheel_store::keyspace::{Rng, Tx, Typed};

/// The size, in bytes, up to which a reply of repeated elements is not measured beforehand.
const SMALL_REPLY: usize = 64 << 20;

const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];

/// A collection whose random elements can be requested.
pub(in crate::commands) trait Sampled: Pool + Typed {
    /// The option that asks for the second part of each element: a field's value, a member's score.
    const WITH_SECOND: Option<&'static str>;

    /// The bytes of the reply of an element.
    fn len_of(item: Self::Item<'_>, with_second: bool) -> usize;
    /// Replies an element: its first part or, `with_second`, both parts.
    fn write(item: Self::Item<'_>, with_second: bool, reply: &mut dyn Reply);
}

/// The row of HRANDFIELD and ZRANDMEMBER, without its family and texts.
pub(in crate::commands) const fn pair_row(name: &'static str, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, -2, handler)
        .flags(&[Flags::READONLY])
        .keys(READS)
        .tips(&["nondeterministic_output"])
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
            "ERR value is out of range",
        ])
}

/// Reads a request with a count: the draw, and whether the second parts are requested.
fn parse<P: Sampled>(args: Args<'_>) -> Result<(Draw, bool), CommandError> {
    // Without an option, an extra word is refused before a wrong count.
    if P::WITH_SECOND.is_none() && args.len() > 3 {
        return Err(errors::SYNTAX);
    }
    let draw = Draw::parse(args, 2)?;
    let with_second = P::WITH_SECOND.is_some_and(|word| args.is(3, word));
    if args.len() > 4 || (args.len() == 4 && !with_second) {
        return Err(errors::SYNTAX);
    }
    if with_second && draw.count() > i64::MAX as u64 / 2 {
        return Err(errors::OUT_OF_RANGE);
    }
    Ok((draw, with_second))
}

/// Replies one random element of the collection in argument 1, or as many as argument 2 asks for. Fails if the key
/// holds another type, or if the words behind it are wrong.
pub(in crate::commands) fn sample<P: Sampled>(
    tx: &mut Tx<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    // The seed is drawn before the collection is borrowed.
    let mut rng = Rng::new(tx.rng().next_u64());
    if args.len() == 2 {
        match tx.read::<P>(&args[1])?.and_then(|pool| one(pool, &mut rng)) {
            Some(item) => P::write(item, false, reply),
            None => reply.null(),
        }
        return Ok(());
    }
    let (kind, with_second) = parse::<P>(args)?;
    let max_bytes = tx.max_string();
    let Some(pool) = tx.read::<P>(&args[1])? else {
        reply.array(0);
        return Ok(());
    };
    let len = kind.len(pool.size())?;
    match kind {
        Draw::Repeated(_) => check_size(pool, len, with_second, (rng.clone(), max_bytes))?,
        Draw::Distinct(_) if len < pool.size() => check_choice(len)?,
        Draw::Distinct(_) => {}
    }
    let nested = with_second && reply.protocol() == Protocol::Resp3;
    reply.array(if with_second && !nested { len * 2 } else { len });
    draw(pool, kind, len, &mut rng, |item| {
        if nested {
            reply.array(2);
        }
        P::write(item, with_second, reply);
    });
    Ok(())
}

/// Checks the size of `len` elements to be drawn with repetition: a short request can ask for any multiple of the
/// collection. Fails with `value is out of range` beyond the longest string, or for lack of memory.
fn check_size<P: Sampled>(
    pool: &P,
    len: usize,
    with_second: bool,
    (mut rng, max_bytes): (Rng, usize),
) -> Outcome {
    // No element is longer than all elements together.
    if pool.heap_bytes().saturating_mul(len) <= SMALL_REPLY.min(max_bytes) {
        return Ok(());
    }
    let mut bytes: usize = 0;
    draw(pool, Draw::Repeated(len as u64), len, &mut rng, |item| {
        bytes = bytes.saturating_add(P::len_of(item, with_second));
    });
    if bytes > max_bytes {
        return Err(errors::OUT_OF_RANGE);
    }
    Ok(allocation::check(bytes)?)
}
