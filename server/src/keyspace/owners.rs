//! The owners of a lock, as the value of its key names them in Redisson's layouts.

use crate::values::{Hash, Value};
use std::borrow::Cow;

/// The field that marks the hash of a read-write lock; no owner.
pub const MODE_FIELD: &[u8] = b"mode";
/// What a field of the owner's write lock has behind the owner's name.
pub const WRITE_SUFFIX: &[u8] = b":write";

/// The length of a UUID in hexadecimal digits, and where its dashes are.
const UUID: usize = 36;
const DASHES: [usize; 4] = [8, 13, 18, 23];

/// Whether a field is an owner as Redisson names it: `<uuid>:<thread>`, `:write` behind it for a write lock.
#[inline]
pub(super) fn is_redissons(field: &[u8]) -> bool {
    let Some((uuid, thread)) = field.split_at_checked(UUID) else { return false };
    let Some(thread) = thread.strip_prefix(b":") else { return false };
    let thread = thread.strip_suffix(WRITE_SUFFIX).unwrap_or(thread);
    !thread.is_empty() && thread.iter().all(u8::is_ascii_digit) && DASHES.iter().all(|&at| uuid[at] == b'-')
}

/// The owners that a hash names, in the order in which they came, while it is small.
pub(super) fn of_hash(hash: &Hash) -> impl Iterator<Item = &[u8]> {
    hash.iter().map(|(field, _)| field).filter(|field| *field != MODE_FIELD)
}

/// The owner that came first.
pub(super) fn first(value: &Value) -> Option<Cow<'_, [u8]>> {
    match value {
        Value::Hash(hash) => of_hash(hash).next().map(Cow::Borrowed),
        Value::Str(text) => Some(Cow::Owned(text.text().to_vec())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redissons_owners_are_known_by_their_form() {
        let uuid = "8743c9c0-0795-4907-87fd-6c719a6b4586";
        for tail in [":1", ":4711", ":1:write"] {
            assert!(is_redissons(format!("{uuid}{tail}").as_bytes()), "{tail}");
        }
        for field in ["", "mode", "a:1", uuid] {
            assert!(!is_redissons(field.as_bytes()), "{field}");
        }
        for tail in ["", ":", ":x", ":1x", "1", ":write", ":1:read"] {
            assert!(!is_redissons(format!("{uuid}{tail}").as_bytes()), "{tail}");
        }
        assert!(!is_redissons(b"8743c9c0x0795-4907-87fd-6c719a6b4586:1"));
    }
}
