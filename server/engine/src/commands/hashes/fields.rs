//! `FIELDS numfields field …`, and what stands before it.

use crate::spec::{Args, CommandError, errors};

/// `FIELDS` does not count the arguments that follow.
pub(super) const NUMFIELDS: &str =
    "ERR numfields should be greater than 0 and match the provided number of fields";

/// The fields of a request, each one argument or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    /// Where `FIELDS` stands.
    pub(super) at: usize,
}

impl Fields {
    /// Finds `FIELDS`, which something follows, behind options that begin at `from`.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn find(args: Args<'_>, from: usize) -> Result<Self, CommandError> {
        let at = (from..args.len() - 1).find(|&at| args.is(at, "fields"));
        at.map(|at| Fields { at }).ok_or(CommandError::text(NUMFIELDS))
    }

    /// The fields of a command that has no options: `FIELDS` stands at 2, or it is a syntax error.
    ///
    /// # Errors
    /// A syntax error, no number, or `mismatch`.
    pub(super) fn alone<'a>(args: Args<'a>, mismatch: CommandError) -> Result<&'a [&'a [u8]], CommandError> {
        if !args.is(2, "fields") {
            return Err(errors::SYNTAX);
        }
        args.int(3)?;
        Fields { at: 2 }.read(args, 1).map_err(|_| mismatch)
    }

    /// The arguments of all fields, of which each has `width`.
    ///
    /// # Errors
    /// There is no number, or theirs is another.
    pub(super) fn read<'a>(self, args: Args<'a>, width: i64) -> Result<&'a [&'a [u8]], CommandError> {
        let fields = args.from(self.at + 2);
        let announced = args.int(self.at + 1)?;
        let counts = announced > 0 && announced.checked_mul(width) == Some(fields.len() as i64);
        if counts { Ok(fields) } else { Err(CommandError::text(NUMFIELDS)) }
    }
}
