//! The argument list `FIELDS numfields field …`.

use crate::spec::{Args, CommandError, errors};

/// The error for a `numfields` that does not match the arguments.
pub(super) const NUMFIELDS: &str =
    "ERR numfields should be greater than 0 and match the provided number of fields";

/// The fields of a request, each of which has one or more arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldArguments {
    /// The index of the word `FIELDS`.
    pub(super) at: usize,
}

impl FieldArguments {
    /// Finds the word `FIELDS`, with an argument behind it, among or behind options from `from` on, or fails.
    pub(super) fn find(args: Args<'_>, from: usize) -> Result<Self, CommandError> {
        let at = (from..args.len() - 1).find(|&at| args.is(at, "fields"));
        at.map(|at| FieldArguments { at }).ok_or(CommandError::text(NUMFIELDS))
    }

    /// The fields of a command without options. Fails if `FIELDS` or `numfields` is wrong, or by `mismatch`.
    pub(super) fn alone<'a>(args: Args<'a>, mismatch: CommandError) -> Result<&'a [&'a [u8]], CommandError> {
        if !args.is(2, "fields") {
            return Err(errors::SYNTAX);
        }
        args.int(3)?;
        FieldArguments { at: 2 }.read(args, 1).map_err(|_| mismatch)
    }

    /// The arguments of all fields, `width` each. Fails if `numfields` is not a number, or not that of the fields.
    pub(super) fn read<'a>(self, args: Args<'a>, width: i64) -> Result<&'a [&'a [u8]], CommandError> {
        let fields = args.from(self.at + 2);
        let announced = args.int(self.at + 1)?;
        let counts = announced > 0 && announced.checked_mul(width) == Some(fields.len() as i64);
        if counts { Ok(fields) } else { Err(CommandError::text(NUMFIELDS)) }
    }
}
