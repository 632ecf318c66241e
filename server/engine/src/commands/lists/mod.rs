//! Lists.

pub(super) mod blocking;
pub(super) mod change;
pub(super) mod pop;
pub(super) mod read;
pub(super) mod transfer;

use crate::spec::{Args, CommandError, errors};
use lockwheel_store::keyspace::{Event, events};
use lockwheel_store::values::End;

/// Argument `index` as an end of a list, `LEFT` or `RIGHT`.
fn end(args: Args<'_>, index: usize) -> Result<End, CommandError> {
    if args.is(index, "left") {
        Ok(End::Left)
    } else if args.is(index, "right") {
        Ok(End::Right)
    } else {
        Err(errors::SYNTAX)
    }
}

const fn push_event(end: End) -> Event {
    match end {
        End::Left => events::LPUSH,
        End::Right => events::RPUSH,
    }
}

const fn pop_event(end: End) -> Event {
    match end {
        End::Left => events::LPOP,
        End::Right => events::RPOP,
    }
}

/// The place of an index in a list of `len` elements; -1 is the last element. `None` if there is no such element.
fn place(index: i64, len: usize) -> Option<usize> {
    let from_end = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { len.checked_sub(from_end) } else { Some(from_end).filter(|&place| place < len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_counts_from_either_end() {
        let found: Vec<_> = (-4..=3).map(|index| place(index, 3)).collect();
        assert_eq!(found, [None, Some(0), Some(1), Some(2), Some(0), Some(1), Some(2), None]);
        assert_eq!(place(i64::MIN, 3), None);
        assert_eq!(place(i64::MAX, 3), None);
        assert_eq!(place(0, 0), None);
    }

    #[test]
    fn left_and_right_are_read_in_any_case() {
        let args = Args::new(&[b"left", b"RiGHT", b"up"]);
        assert_eq!(end(args, 0), Ok(End::Left));
        assert_eq!(end(args, 1), Ok(End::Right));
        assert_eq!(end(args, 2), Err(errors::SYNTAX));
        assert_eq!(end(args, 3), Err(errors::SYNTAX));
    }
}
