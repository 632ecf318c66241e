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
    announced: i64,
}

impl Fields {
    /// Finds `FIELDS` with its number, behind options that begin at `from`.
    ///
    /// # Errors
    /// There is none, or no number follows.
    pub(super) fn find(args: Args<'_>, from: usize) -> Result<Self, CommandError> {
        let at = (from..args.len() - 1).find(|&at| args.is(at, "fields"));
        let at = at.ok_or(CommandError::text(NUMFIELDS))?;
        Ok(Fields { at, announced: args.int(at + 1)? })
    }

    /// The fields of a command that has no options: `FIELDS` stands at 2, or it is a syntax error.
    ///
    /// # Errors
    /// A syntax error, no number, or `mismatch`.
    pub(super) fn alone<'a>(args: Args<'a>, mismatch: CommandError) -> Result<&'a [&'a [u8]], CommandError> {
        if !args.is(2, "fields") {
            return Err(errors::SYNTAX);
        }
        let fields = Fields { at: 2, announced: args.int(3)? };
        fields.read(args, 1).map_err(|_| mismatch)
    }

    /// The arguments of all fields, of which each has `width`.
    ///
    /// # Errors
    /// Their number is another.
    pub(super) fn read<'a>(self, args: Args<'a>, width: i64) -> Result<&'a [&'a [u8]], CommandError> {
        let fields = args.from(self.at + 2);
        let counts = self.announced > 0 && self.announced.checked_mul(width) == Some(fields.len() as i64);
        if counts { Ok(fields) } else { Err(CommandError::text(NUMFIELDS)) }
    }
}
