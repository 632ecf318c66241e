//! The commands on single places, which add, locate and measure them.

use super::cell::{Cell, MAX_STEPS, MERCATOR};
use super::earth::{Point, PreparedPoint};
use super::request::{point, unit};
use super::units_before_7;
use crate::commands::sorted_sets::change::add;
use crate::commands::sorted_sets::policy::AddOptions;
use crate::spec::{Args, CommandError, DataHandler, Flags, KeyFlags, KeySpec, Outcome, Row, errors};
use lockwheel_resp::{Reply, allocation, number};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::ZSet;

const READS: &[KeySpec] = &[KeySpec::one(1, &[KeyFlags::RO, KeyFlags::ACCESS])];

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    Row::new("geoadd", -5, geoadd as DataHandler)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .categories(&["geo"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::UPDATE])])
        .about(
            "geo",
            "3.2.0",
            "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
        )
        .summary("Adds members with coordinates, or moves members.")
        .history(&[("6.2.0", "Added the `CH`, `NX` and `XX` options.")])
        .syntax("key [condition@6.2.0: NX | XX] [CH=change@6.2.0] (longitude latitude member) ...")
        .errors(&[
            "ERR syntax error",
            "ERR value is not a valid float",
            "ERR invalid longitude,latitude pair *",
        ]),
    read_row("geodist", -4, geodist)
        .about("geo", "3.2.0", "O(log(N))")
        .summary("Tells how far two places are apart.")
        .syntax("key member1 member2 [unit: M | KM | FT | MI]")
        .refusing_before("7.0.0", units_before_7::of_distance)
        .errors(&["ERR syntax error", UNKNOWN_UNIT]),
    read_row("geohash", -2, geohash)
        .about(
            "geo",
            "3.2.0",
            "O(log(N)) for each member requested, where N is the number of elements in the sorted set.",
        )
        .summary("Returns the geohashes of places.")
        .syntax("key [member [member ...]]"),
    read_row("geopos", -2, geopos)
        .about("geo", "3.2.0", "O(N) where N is the number of members requested.")
        .summary("Returns the coordinates of places.")
        .syntax("key [member [member ...]]"),
];

pub(super) const UNKNOWN_UNIT: &str = "ERR unsupported unit provided. please use M, KM, FT, MI";

const fn read_row(name: &'static str, arity: i32, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, arity, handler).flags(&[Flags::READONLY]).categories(&["geo"]).keys(READS)
}

fn geoadd(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (mut options, mut at) = (AddOptions::default(), 2);
    while options.read_common(args, at) {
        at += 1;
    }
    let AddOptions { policy, ch } = options;
    let words = args.len() - at;
    if words == 0 || !words.is_multiple_of(3) || (policy.nx && policy.xx) {
        return Err(errors::SYNTAX);
    }
    // All places must be valid before the first one is added.
    let scored = |at| Ok((Cell::of(point(args, at)?, MERCATOR, MAX_STEPS).score(), args.all()[at + 2]));
    let places: Vec<(f64, &[u8])> =
        (at..args.len()).step_by(3).map(scored).collect::<Result<_, CommandError>>()?;
    let changed = add(tx, &args[1], places.iter().copied(), policy)?;
    if changed.counted(true) > 0 {
        propagate_places(tx, args, at, &places);
    }
    reply.integer(changed.counted(ch));
    Ok(())
}

/// Propagates places as members of a sorted set, with the options before argument `at`.
fn propagate_places(tx: &mut Tx<'_>, args: Args<'_>, at: usize, places: &[(f64, &[u8])]) {
    if !tx.is_propagated() {
        return;
    }
    // A score is the number of a cell, so it is whole.
    let scores = allocation::collect(places.iter().map(|(score, _)| (*score as i64).to_string()));
    let pairs = scores.iter().zip(places).flat_map(|(score, (_, member))| [score.as_bytes(), *member]);
    let before = args.all().get(1..at).unwrap_or_default();
    tx.propagate_parts(&[&[b"zadd"], before, &allocation::collect(pairs)]);
}

fn place(set: Option<&ZSet>, member: &[u8]) -> Option<Cell> {
    set?.score(member).map(Cell::of_score)
}

fn geodist(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let meters = match args.len() {
        4 => 1.0,
        5 => unit(args, 4)?,
        _ => return Err(errors::SYNTAX),
    };
    let set = tx.read::<ZSet>(&args[1])?;
    let [one, other] = [2, 3].map(|at| place(set, &args[at]));
    match one.zip(other) {
        Some((one, other)) => {
            let distance = PreparedPoint::new(one.middle()).distance(PreparedPoint::new(other.middle()));
            write_distance(distance / meters, reply);
        }
        None => reply.null(),
    }
    Ok(())
}

/// Replies a distance: a bulk string with four decimals.
pub(super) fn write_distance(distance: f64, reply: &mut dyn Reply) {
    let mut text = Vec::with_capacity(32);
    number::format_distance(distance, &mut text);
    reply.bulk(&text);
}

/// Replies a point: an array of its longitude and its latitude.
pub(super) fn write_point(point: Point, reply: &mut dyn Reply) {
    reply.array(2);
    reply.decimal(point.longitude);
    reply.decimal(point.latitude);
}

fn geohash(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let set = tx.read::<ZSet>(&args[1])?;
    reply.array(args.len() - 2);
    for member in args.from(2) {
        match place(set, member) {
            Some(cell) => reply.bulk(&cell.geohash()),
            None => reply.null(),
        }
    }
    Ok(())
}

fn geopos(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let set = tx.read::<ZSet>(&args[1])?;
    reply.array(args.len() - 2);
    for member in args.from(2) {
        match place(set, member) {
            Some(cell) => write_point(cell.middle(), reply),
            None => reply.null_array(),
        }
    }
    Ok(())
}
