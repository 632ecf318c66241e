//! The check of units before 7.0, which took them only in lower case.

use crate::spec::{Args, CommandError};

const UNKNOWN: CommandError = CommandError::text("ERR unsupported unit provided. please use m, km, ft, mi");

/// Refuses the unit of GEODIST.
pub(super) fn of_distance(args: Args<'_>) -> Option<CommandError> {
    unless_lower(args, 4)
}

/// Refuses the unit of GEORADIUS.
pub(super) fn of_radius(args: Args<'_>) -> Option<CommandError> {
    unless_lower(args, 5)
}

/// Refuses the unit of GEORADIUSBYMEMBER.
pub(super) fn of_radius_by_member(args: Args<'_>) -> Option<CommandError> {
    unless_lower(args, 4)
}

/// Refuses the unit of GEOSEARCH and GEOSEARCHSTORE, behind the radius of a circle or the sides of a box.
pub(super) fn of_area(args: Args<'_>) -> Option<CommandError> {
    let unit = |at: usize| match () {
        () if args.is(at, "byradius") => Some(at + 2),
        () if args.is(at, "bybox") => Some(at + 3),
        () => None,
    };
    // The first words are keys and the center, whose names may equal options.
    (2..args.len()).rev().find_map(unit).and_then(|at| unless_lower(args, at))
}

fn unless_lower(args: Args<'_>, at: usize) -> Option<CommandError> {
    let unit = args.get(at)?;
    (!matches!(unit, b"m" | b"km" | b"ft" | b"mi")).then_some(UNKNOWN)
}
