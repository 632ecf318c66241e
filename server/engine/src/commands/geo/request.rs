//! The requests of searches.

use super::cell::{Cell, MERCATOR};
use super::earth::Point;
use super::shape::{Form, Shape};
use crate::spec::{Args, CommandError, errors};
use lockwheel_resp::number;
use lockwheel_store::values::ZSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// GEORADIUS, whose center is a point. The `_RO` variant does not store.
    Radius { stores: bool },
    /// GEORADIUSBYMEMBER, whose center is a member.
    RadiusByMember { stores: bool },
    /// GEOSEARCH, and GEOSEARCHSTORE, whose first argument is the destination.
    Area { stores: bool },
}

/// The direction in which results are sorted by distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DistanceOrder {
    Nearest,
    Farthest,
}

/// The data replied for each member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) distance: bool,
    pub(super) hash: bool,
    pub(super) coordinates: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Store<'a> {
    pub(super) key: &'a [u8],
    /// Whether the scores are the distances.
    pub(super) distances: bool,
}

/// A request. If the searched set is absent, the center or the shape may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct GeoRequest<'a> {
    pub(super) center: Option<Point>,
    pub(super) shape: Option<Shape>,
    pub(super) order: Option<DistanceOrder>,
    /// The most results. 0: all.
    pub(super) count: usize,
    /// Whether any `count` members are returned, instead of the nearest.
    pub(super) any: bool,
    pub(super) told: Told,
    pub(super) store: Option<Store<'a>>,
}

impl Search {
    /// The index of the searched key.
    pub(super) fn source(self) -> usize {
        if self == (Search::Area { stores: true }) { 2 } else { 1 }
    }

    fn is_area(self) -> bool {
        matches!(self, Search::Area { .. })
    }

    /// Whether an option names the destination.
    fn stores_by_option(self) -> bool {
        matches!(self, Search::Radius { stores: true } | Search::RadiusByMember { stores: true })
    }
}

/// Argument `at` and the next as a point. Fails if they are no numbers, or beyond the world.
pub(super) fn point(args: Args<'_>, at: usize) -> Result<Point, CommandError> {
    let point = Point { longitude: args.float(at)?, latitude: args.float(at + 1)? };
    if MERCATOR.contains(point) {
        return Ok(point);
    }
    let Point { longitude, latitude } = point;
    Err(CommandError::new(format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}")))
}

/// Argument `at` as a unit of length, in meters.
pub(super) fn unit(args: Args<'_>, at: usize) -> Result<f64, CommandError> {
    let units = [("m", 1.0), ("km", 1000.0), ("ft", 0.3048), ("mi", 1609.34)];
    let unit = units.iter().find(|(word, _)| args.is(at, word));
    unit.map(|(_, meters)| *meters).ok_or(errors::UNKNOWN_UNIT)
}

fn length(args: Args<'_>, at: usize, error: CommandError) -> Result<f64, CommandError> {
    args.get(at).and_then(number::parse_f64).ok_or(error)
}

/// A circle: its radius in argument `at`, then the unit.
fn circle(args: Args<'_>, at: usize) -> Result<Shape, CommandError> {
    let radius = length(args, at, errors::NO_RADIUS)?;
    if radius < 0.0 {
        return Err(errors::RADIUS_NEGATIVE);
    }
    Ok(Shape { form: Form::Circle { radius }, unit: unit(args, at + 1)? })
}

/// A box: its width in argument `at`, then its height, then the unit.
fn rectangle(args: Args<'_>, at: usize) -> Result<Shape, CommandError> {
    let (width, height) = (length(args, at, errors::NO_WIDTH)?, length(args, at + 1, errors::NO_HEIGHT)?);
    if width < 0.0 || height < 0.0 {
        return Err(errors::BOX_NEGATIVE);
    }
    Ok(Shape { form: Form::Box { width, height }, unit: unit(args, at + 2)? })
}

fn place_of(set: &ZSet, member: &[u8]) -> Result<Point, CommandError> {
    set.score(member).map(|score| Cell::of_score(score).middle()).ok_or(errors::NO_SUCH_PLACE)
}

struct Parser<'a, 's> {
    args: Args<'a>,
    search: Search,
    set: Option<&'s ZSet>,
    /// Whether FROMMEMBER and FROMLONLAT gave the center. `by`: whether BYRADIUS and BYBOX gave the shape.
    from: [bool; 2],
    by: [bool; 2],
    request: GeoRequest<'a>,
}

impl<'a> GeoRequest<'a> {
    /// Reads the arguments of a search in this set. As in Redis, a missing member is reported before a wrong option.
    pub(super) fn parse(args: Args<'a>, search: Search, set: Option<&ZSet>) -> Result<Self, CommandError> {
        let request = GeoRequest::default();
        let mut parser = Parser { args, search, set, from: [false; 2], by: [false; 2], request };
        let mut at = parser.fixed()?;
        while at < args.len() {
            at += parser.option(at)?;
        }
        parser.check()
    }
}

impl<'a> Parser<'a, '_> {
    /// Reads the arguments with fixed places. Returns the place of the first option.
    fn fixed(&mut self) -> Result<usize, CommandError> {
        let args = self.args;
        match self.search {
            Search::Radius { .. } => {
                self.request.center = Some(point(args, 2)?);
                self.request.shape = Some(circle(args, 4)?);
                Ok(6)
            }
            Search::RadiusByMember { .. } => {
                if let Some(set) = self.set {
                    self.request.center = Some(place_of(set, &args[2])?);
                    self.request.shape = Some(circle(args, 3)?);
                }
                Ok(5)
            }
            Search::Area { stores } => {
                if stores {
                    self.request.store = Some(Store { key: args.all()[1], distances: false });
                }
                Ok(2 + usize::from(stores))
            }
        }
    }

    /// Reads the option at argument `at`. Returns the number of its arguments.
    fn option(&mut self, at: usize) -> Result<usize, CommandError> {
        let (args, request) = (self.args, &mut self.request);
        if args.is(at, "withdist") {
            request.told.distance = true;
        } else if args.is(at, "withhash") {
            request.told.hash = true;
        } else if args.is(at, "withcoord") {
            request.told.coordinates = true;
        } else if args.is(at, "any") {
            request.any = true;
        } else if args.is(at, "asc") {
            request.order = Some(DistanceOrder::Nearest);
        } else if args.is(at, "desc") {
            request.order = Some(DistanceOrder::Farthest);
        } else {
            return self.option_with_value(at);
        }
        Ok(1)
    }

    fn option_with_value(&mut self, at: usize) -> Result<usize, CommandError> {
        let (args, search) = (self.args, self.search);
        let values = args.len() - at - 1;
        if values >= 1 && args.is(at, "count") {
            let count = args.int(at + 1)?;
            self.request.count = usize::try_from(count).unwrap_or(0);
            return if count > 0 { Ok(2) } else { Err(errors::GEO_COUNT_NOT_POSITIVE) };
        }
        for (word, distances) in [("store", false), ("storedist", true)] {
            if values >= 1 && search.stores_by_option() && args.is(at, word) {
                self.request.store = Some(Store { key: args.all()[at + 1], distances });
                return Ok(2);
            }
        }
        if search.is_area() { self.area_option(at, values) } else { Err(errors::SYNTAX) }
    }

    /// Reads an option that only GEOSEARCH has. Of two options that exclude each other, the second counts as unknown.
    fn area_option(&mut self, at: usize, values: usize) -> Result<usize, CommandError> {
        let (args, request) = (self.args, &mut self.request);
        if let Some(store) = request.store.as_mut().filter(|_| args.is(at, "storedist")) {
            store.distances = true;
            Ok(1)
        } else if values >= 1 && !self.from[1] && args.is(at, "frommember") {
            if let Some(set) = self.set {
                request.center = Some(place_of(set, &args[at + 1])?);
            }
            self.from[0] = true;
            Ok(2)
        } else if values >= 2 && !self.from[0] && args.is(at, "fromlonlat") {
            request.center = Some(point(args, at + 1)?);
            self.from[1] = true;
            Ok(3)
        } else if values >= 2 && !self.by[1] && args.is(at, "byradius") {
            request.shape = Some(circle(args, at + 1)?);
            self.by[0] = true;
            Ok(3)
        } else if values >= 3 && !self.by[0] && args.is(at, "bybox") {
            request.shape = Some(rectangle(args, at + 1)?);
            self.by[1] = true;
            Ok(4)
        } else {
            Err(errors::SYNTAX)
        }
    }

    /// Returns the request, if its options do not exclude each other.
    fn check(self) -> Result<GeoRequest<'a>, CommandError> {
        let Parser { args, search, from, by, mut request, .. } = self;
        if request.store.is_some() && request.told != Told::default() {
            return Err(if search.is_area() { errors::SEARCH_TELLS } else { errors::RADIUS_TELLS });
        }
        let missing = |what: &str| {
            let mut text = format!("ERR exactly one of {what} can be specified for ").into_bytes();
            // The error quotes the command as the client wrote it.
            text.extend(&args[0]);
            Err(CommandError::new(text))
        };
        if search.is_area() && from == [false; 2] {
            return missing("FROMMEMBER or FROMLONLAT");
        }
        if search.is_area() && by == [false; 2] {
            return missing("BYRADIUS and BYBOX");
        }
        if request.any && request.count == 0 {
            return Err(errors::ANY_WITHOUT_COUNT);
        }
        if request.count > 0 && !request.any {
            // COUNT without ANY means the nearest members.
            request.order = request.order.or(Some(DistanceOrder::Nearest));
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(search: Search, line: &str) -> Result<DistanceOrder, String> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let set = ZSet::new();
        match GeoRequest::parse(Args::new(&words), search, Some(&set)) {
            Ok(request) => Ok(request.order.unwrap_or(DistanceOrder::Farthest)),
            Err(error) => Err(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }

    #[test]
    fn mutually_exclusive_options_are_a_syntax_error() {
        let area = Search::Area { stores: false };
        for line in [
            "geosearch g fromlonlat 1 1 frommember a byradius 1 m",
            "geosearch g fromlonlat 1 1 byradius 1 m bybox 1 1 m",
            "geosearch g fromlonlat 1 1 bybox 1 1 m byradius 1 m",
            "geosearch g fromlonlat 1 1 bybox 1 1",
            "geosearch g fromlonlat 1 1 byradius 1 m store d",
            "geosearch g fromlonlat 1 1 byradius 1 m storedist",
            "geosearch g fromlonlat 1 1 byradius 1 m count",
        ] {
            assert_eq!(parse(area, line), Err("ERR syntax error".to_string()), "{line}");
        }
        assert_eq!(
            parse(area, "geosearch g fromlonlat 1 1 byradius 1 m count 3"),
            Ok(DistanceOrder::Nearest)
        );
    }

    #[test]
    fn errors_name_the_command_as_written() {
        let error = parse(Search::Area { stores: false }, "GeoSearch g fromlonlat 1 1");
        let text = "ERR exactly one of BYRADIUS and BYBOX can be specified for GeoSearch";
        assert_eq!(error, Err(text.to_string()));
    }

    #[test]
    fn coordinates_out_of_range_are_refused() {
        for (line, text) in [
            ("181 1", "ERR invalid longitude,latitude pair 181.000000,1.000000"),
            ("1 -85.0511288", "ERR invalid longitude,latitude pair 1.000000,-85.051129"),
            ("inf 1", "ERR invalid longitude,latitude pair inf,1.000000"),
            ("1 nan", "ERR value is not a valid float"),
        ] {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let error = point(Args::new(&words), 0).unwrap_err();
            assert_eq!(String::from_utf8_lossy(error.as_bytes()), text);
        }
    }
}
