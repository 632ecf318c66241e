//! The check of the memory that a large request needs, made before the command changes anything.

use crate::clients::Multi;
use crate::spec::{Args, Command, Flags, KeyFlags};
use lockwheel_resp::allocation::{self, OutOfMemory};

/// The size, in bytes, up to which requests are not checked.
pub(crate) const LARGE_INPUT: usize = 64 << 10;
/// The copies of a long name that a command may make: for events, for clients that wait, for replicas, for the history.
const NAME_COPIES: usize = 8;
/// The most bytes beside its own that a collection takes for an element: its entry, and the growing table.
const ELEMENT_OVERHEAD: usize = 128;
/// Bytes for allocations other than the arguments: blocks of tables, the reply, the key's events.
const SPARE: usize = 1 << 20;
/// The flags of keys that a command may create or enlarge.
const GROWS: KeyFlags = KeyFlags::of(&[KeyFlags::INSERT, KeyFlags::UPDATE, KeyFlags::OW]);

/// Whether there is no memory for a request's data. `is_queued`: it only joins a transaction. O(arguments).
pub(crate) fn lacks_room(command: &Command, args: Args<'_>, is_queued: bool) -> bool {
    check_room(needed(command, args, is_queued)).is_err()
}

/// Whether there is no memory for the data of a command that a script calls. O(arguments).
#[inline]
pub(crate) fn call_lacks_room(command: &Command, args: Args<'_>) -> bool {
    command.has(Flags::WRITE)
        && args.all().iter().map(|word| word.len()).sum::<usize>() > LARGE_INPUT
        && lacks_room(command, args, false)
}

/// Checks that there is memory for a transaction's data, or returns the size of what is needed.
pub(crate) fn check_room_for(multi: &Multi) -> Result<(), OutOfMemory> {
    check_room(multi.memory())
}

fn check_room(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes <= LARGE_INPUT { Ok(()) } else { allocation::check(bytes.saturating_add(SPARE)) }
}

/// Returns the bytes that a request may need for its data.
fn needed(command: &Command, args: Args<'_>, is_queued: bool) -> usize {
    let longest = args.all().iter().map(|word| word.len()).max().unwrap_or(0);
    let names = if longest > LARGE_INPUT { longest_name(command, args) } else { 0 };
    added(command, args, is_queued).saturating_add(names.saturating_mul(NAME_COPIES))
}

/// Returns the length of the longest key. Without keys, any word but PUBLISH's message may be a name.
fn longest_name(command: &Command, args: Args<'_>) -> usize {
    let words = args.all();
    let longest = |words: &[&[u8]]| words.iter().map(|word| word.len()).max().unwrap_or(0);
    if !command.spec.keys.is_empty() {
        command
            .key_positions(args)
            .into_iter()
            .filter_map(|at| args.get(at))
            .map(<[u8]>::len)
            .max()
            .unwrap_or(0)
    } else if command.has(Flags::MAY_REPLICATE) {
        longest(words.get(1..2).unwrap_or_default())
    } else {
        longest(words)
    }
}

/// Returns the bytes that a request may add to the data or to a queue. A command that only removes adds none, so with
/// names of moderate length it works even when memory has run out.
fn added(command: &Command, args: Args<'_>, is_queued: bool) -> usize {
    let lengths = args.all().iter().map(|word| word.len());
    if command.has(Flags::DENYOOM) {
        lengths.map(|len| len.saturating_add(ELEMENT_OVERHEAD)).fold(0, usize::saturating_add)
    } else if is_queued {
        lengths.fold(0, usize::saturating_add)
    } else if command.has(Flags::MAY_REPLICATE)
        || command.spec.keys.iter().any(|key| key.flags.intersects(GROWS))
    {
        lengths.max().unwrap_or(0)
    } else {
        0
    }
}
