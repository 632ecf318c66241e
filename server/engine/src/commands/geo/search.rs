//! The commands that search an area.

use super::cell::{Cell, truncated};
use super::grid::covering;
use super::nearest::sort_first;
use super::places::{UNKNOWN_UNIT, write_distance, write_point};
use super::request::{DistanceOrder, GeoRequest, Search, Store, Told};
use super::shape::Area;
use super::units_before_7;
use crate::commands::sorted_sets::store::store;
use crate::spec::{Args, DataHandler, Flags, Key, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::{Reply, allocation};
use lockwheel_store::keyspace::{Tx, events};
use lockwheel_store::values::{Encodings, ZSet, zset};

const SOURCE: &[KeyFlags] = &[KeyFlags::RO, KeyFlags::ACCESS];
const READS: &[KeySpec] = &[KeySpec::one(1, SOURCE)];
const DESTINATION: &[KeyFlags] = &[KeyFlags::OW, KeyFlags::UPDATE];

const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
const NO_SUCH_PLACE: &str = "ERR could not decode requested zset member";
const COUNT: &str = "ERR COUNT must be > 0";
const ANY: &str = "ERR the ANY argument requires COUNT argument";
const NO_RADIUS: &str = "ERR need numeric radius";
const NEGATIVE_RADIUS: &str = "ERR radius cannot be negative";
const NOT_A_FLOAT: &str = "ERR value is not a valid float";
const INVALID_PAIR: &str = "ERR invalid longitude,latitude pair *";
const STORES_AND_TELLS: &str =
    "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options";

const OF_AREA: &str = "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area around the \
                       shape provided as the filter and M is the number of items inside the shape";
const OF_RADIUS: &str = "O(N+log(M)) where N is the number of elements inside the bounding box of the circular area \
                         delimited by center and radius and M is the number of items inside the index.";

pub(in crate::commands) const ROWS: &[Row<DataHandler>] = &[
    reads("geosearch", -7, geosearch)
        .about("geo", "6.2.0", OF_AREA)
        .summary("Returns the places within a circle or a box.")
        .history(&[("7.0.0", "Added support for uppercase unit names.")])
        .refusing_before("7.0.0", units_before_7::of_area)
        .syntax(
            "key (from: FROMMEMBER member | FROMLONLAT longitude latitude) (by: (circle: BYRADIUS radius \
             (unit: M | KM | FT | MI)) | (box: BYBOX width height (unit: M | KM | FT | MI))) [order: ASC | \
             DESC] [count: COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]",
        )
        .errors(AREA_ERRORS),
    row("geosearchstore", -8, geosearchstore)
        .flags(&[Flags::WRITE, Flags::DENYOOM])
        .keys(&[KeySpec::one(1, DESTINATION), KeySpec::one(2, SOURCE)])
        .about("geo", "6.2.0", OF_AREA)
        .summary("Stores the places within a circle or a box, and tells how many.")
        .history(&[("7.0.0", "Added support for uppercase unit names.")])
        .refusing_before("7.0.0", units_before_7::of_area)
        .syntax(
            "destination source (from: FROMMEMBER member | FROMLONLAT longitude latitude) (by: \
             (circle: BYRADIUS radius (unit: M | KM | FT | MI)) | (box: BYBOX width height (unit: M | KM | \
             FT | MI))) [order: ASC | DESC] [count: COUNT count [ANY]] [STOREDIST]",
        )
        .errors(STORED_AREA_ERRORS),
    stores("georadius", -6, georadius, RADIUS_KEYS)
        .unlisted_keys(stored_by_radius)
        .about("geo", "3.2.0", OF_RADIUS)
        .summary("Returns or stores the places within a circle around a point.")
        .history(&[
            ("6.2.0", "Added the `ANY` option for `COUNT`."),
            ("7.0.0", "Added support for uppercase unit names."),
        ])
        .deprecated("6.2.0", "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument")
        .refusing_before("7.0.0", units_before_7::of_radius)
        .syntax(
            "key longitude latitude radius (unit: M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] \
             [count: COUNT count [ANY@6.2.0]] [order: ASC | DESC] [STORE key] [STOREDIST key]",
        )
        .errors(STORED_RADIUS_ERRORS),
    stores("georadiusbymember", -5, georadiusbymember, BY_MEMBER_KEYS)
        .unlisted_keys(stored_by_member)
        .about("geo", "3.2.0", OF_RADIUS)
        .summary("Returns or stores the places within a circle around a member.")
        .history(&[("7.0.0", "Added support for uppercase unit names.")])
        .deprecated(
            "6.2.0",
            "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
        )
        .refusing_before("7.0.0", units_before_7::of_radius_by_member)
        .syntax(
            "key member radius (unit: M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] \
             [count: COUNT count [ANY]] [order: ASC | DESC] [STORE key] [STOREDIST key]",
        )
        .errors(STORED_BY_MEMBER_ERRORS),
    reads("georadius_ro", -6, georadius_ro)
        .about("geo", "3.2.10", OF_RADIUS)
        .summary("Returns the places within a circle around a point.")
        .history(&[("6.2.0", "Added the `ANY` option for `COUNT`.")])
        .deprecated("6.2.0", "`GEOSEARCH` with the `BYRADIUS` argument")
        .refusing_before("7.0.0", units_before_7::of_radius)
        .syntax(
            "key longitude latitude radius (unit: M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] \
             [count: COUNT count [ANY@6.2.0]] [order: ASC | DESC]",
        )
        .errors(RADIUS_ERRORS),
    reads("georadiusbymember_ro", -5, georadiusbymember_ro)
        .about("geo", "3.2.10", OF_RADIUS)
        .summary("Returns the places within a circle around a member.")
        .deprecated("6.2.0", "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments")
        .refusing_before("7.0.0", units_before_7::of_radius_by_member)
        .syntax(
            "key member radius (unit: M | KM | FT | MI) [WITHCOORD] [WITHDIST] [WITHHASH] \
             [count: COUNT count [ANY]] [order: ASC | DESC]",
        )
        .errors(BY_MEMBER_ERRORS),
];

/// The errors of every search, and `$more`.
macro_rules! search_errors {
    ($($more:expr),*) => {
        &[
            "ERR syntax error",
            NOT_AN_INTEGER,
            NO_RADIUS,
            NEGATIVE_RADIUS,
            UNKNOWN_UNIT,
            COUNT,
            ANY,
            $($more),*
        ]
    };
}

const RADIUS_ERRORS: &[&str] = search_errors!(NOT_A_FLOAT, INVALID_PAIR);
const STORED_RADIUS_ERRORS: &[&str] = search_errors!(NOT_A_FLOAT, INVALID_PAIR, STORES_AND_TELLS);
const BY_MEMBER_ERRORS: &[&str] = search_errors!(NO_SUCH_PLACE);
const STORED_BY_MEMBER_ERRORS: &[&str] = search_errors!(NO_SUCH_PLACE, STORES_AND_TELLS);

macro_rules! area_errors {
    ($($more:expr),*) => {
        search_errors!(
            NOT_A_FLOAT,
            INVALID_PAIR,
            NO_SUCH_PLACE,
            "ERR need numeric width",
            "ERR need numeric height",
            "ERR height or width cannot be negative",
            "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for *",
            "ERR exactly one of BYRADIUS and BYBOX can be specified for *"
            $(, $more)*
        )
    };
}

const AREA_ERRORS: &[&str] = area_errors!();
const STORED_AREA_ERRORS: &[&str] =
    area_errors!("ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options");

/// The index of the first argument that may be an option.
const RADIUS_OPTIONS: i32 = 6;
const BY_MEMBER_OPTIONS: i32 = 5;

const RADIUS_KEYS: &[KeySpec] = &[
    KeySpec::one(1, SOURCE),
    KeySpec::after("STORE", RADIUS_OPTIONS, DESTINATION),
    KeySpec::after("STOREDIST", RADIUS_OPTIONS, DESTINATION),
];
const BY_MEMBER_KEYS: &[KeySpec] = &[
    KeySpec::one(1, SOURCE),
    KeySpec::after("STORE", BY_MEMBER_OPTIONS, DESTINATION),
    KeySpec::after("STOREDIST", BY_MEMBER_OPTIONS, DESTINATION),
];

/// The key of the last STORE or STOREDIST, to which the results are stored. Redis lists the first of each.
fn stored_key(args: Args<'_>, options_at: i32) -> Vec<Key> {
    let (mut stored, mut at) = (None, options_at.unsigned_abs() as usize);
    while at + 1 < args.len() {
        let stores = args.is(at, "store") || args.is(at, "storedist");
        if stores {
            stored = Some((at + 1, KeyFlags::of(DESTINATION)));
        }
        at += if stores || args.is(at, "count") { 2 } else { 1 };
    }
    stored.into_iter().collect()
}

fn stored_by_radius(args: Args<'_>) -> Vec<Key> {
    stored_key(args, RADIUS_OPTIONS)
}

fn stored_by_member(args: Args<'_>) -> Vec<Key> {
    stored_key(args, BY_MEMBER_OPTIONS)
}

const fn row(name: &'static str, arity: i32, handler: DataHandler) -> Row<DataHandler> {
    Row::new(name, arity, handler).categories(&["geo"])
}

const fn reads(name: &'static str, arity: i32, handler: DataHandler) -> Row<DataHandler> {
    row(name, arity, handler).flags(&[Flags::READONLY]).keys(READS)
}

const fn stores(
    name: &'static str,
    arity: i32,
    handler: DataHandler,
    keys: &'static [KeySpec],
) -> Row<DataHandler> {
    row(name, arity, handler).flags(&[Flags::WRITE, Flags::DENYOOM, Flags::MOVABLEKEYS]).keys(keys)
}

#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    member: &'a [u8],
    score: f64,
    /// The distance from the center, in meters.
    distance: f64,
}

/// The members of a set that a request asks for, in the requested order.
fn find<'s>(set: &'s ZSet, request: &GeoRequest<'_>) -> Vec<Found<'s>> {
    let (Some(center), Some(shape)) = (request.center, request.shape) else { return Vec::new() };
    let area = Area::new(center, shape);
    let wanted = |score: f64| area.distance(Cell::of_score(score).middle());
    let some = if request.any { request.count } else { usize::MAX };
    let members = covering(center, shape).flat_map(|cell| {
        let (from, to) = cell.scores();
        set.search(from, to, wanted)
    });
    let members = members.map(|(member, score, distance)| Found { member, score, distance });
    let mut found = allocation::collect(members.take(some));
    let len = if request.count == 0 { found.len() } else { request.count.min(found.len()) };
    match request.order {
        None => {}
        Some(DistanceOrder::Nearest) => sort_first(&mut found, len, |a, b| a.distance.total_cmp(&b.distance)),
        Some(DistanceOrder::Farthest) => {
            sort_first(&mut found, len, |a, b| b.distance.total_cmp(&a.distance))
        }
    }
    found.truncate(len);
    found
}

/// Replies the found members, each with the requested data.
fn write(found: &[Found<'_>], told: Told, unit: f64, reply: &mut dyn Reply) {
    let parts = [told.distance, told.hash, told.coordinates].map(usize::from).iter().sum::<usize>();
    reply.array(found.len());
    for Found { member, score, distance } in found {
        if parts > 0 {
            reply.array(1 + parts);
        }
        reply.bulk(member);
        if told.distance {
            write_distance(distance / unit, reply);
        }
        if told.hash {
            reply.integer(truncated(*score));
        }
        if told.coordinates {
            write_point(Cell::of_score(*score).middle(), reply);
        }
    }
}

/// The set that stores the found members, with their own scores or their distances.
fn stored(found: &[Found<'_>], distances: bool, unit: f64, encodings: &Encodings) -> ZSet {
    let score = |found: &Found<'_>| if distances { found.distance / unit } else { found.score };
    let mut pairs = allocation::collect(found.iter().map(|found| (found.member, score(found))));
    zset::sort(&mut pairs);
    ZSet::of_sorted(&pairs, encodings)
}

fn run(tx: &mut Tx<'_>, args: Args<'_>, search: Search, reply: &mut dyn Reply) -> Outcome {
    let encodings = tx.encodings().clone();
    let set = tx.read::<ZSet>(&args[search.source()])?;
    let request = GeoRequest::parse(args, search, set)?;
    let found = set.map_or_else(Vec::new, |set| find(set, &request));
    let unit = request.shape.map_or(1.0, |shape| shape.unit);
    let Some(Store { key, distances }) = request.store else {
        write(&found, request.told, unit, reply);
        return Ok(());
    };
    let result = allocation::contain(|| stored(&found, distances, unit, &encodings))?;
    let is_area = matches!(search, Search::Area { .. });
    let event = if is_area { events::GEOSEARCHSTORE } else { events::GEORADIUSSTORE };
    reply.integer(store(tx, key, result, event) as i64);
    Ok(())
}

fn geosearch(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(tx, args, Search::Area { stores: false }, reply)
}

fn geosearchstore(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(tx, args, Search::Area { stores: true }, reply)
}

fn georadius(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(tx, args, Search::Radius { stores: true }, reply)
}

fn georadiusbymember(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(tx, args, Search::RadiusByMember { stores: true }, reply)
}

fn georadius_ro(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(tx, args, Search::Radius { stores: false }, reply)
}

fn georadiusbymember_ro(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(tx, args, Search::RadiusByMember { stores: false }, reply)
}
