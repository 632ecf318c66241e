//! The owners of a lock, as the value of its key names them in Redisson's layouts.

use crate::values::{Hash, Value};

/// The field that marks the hash of a read-write lock; no owner.
pub const MODE_FIELD: &[u8] = b"mode";
/// What a field of the owner's write lock has behind the owner's name.
pub const WRITE_SUFFIX: &[u8] = b":write";

/// A UUID in hexadecimal digits, and the colon behind it.
const UUID: usize = 37;

/// Whether a field is an owner as Redisson names it: `<uuid>:<thread>`, `:write` behind it for a write lock.
#[inline]
pub(super) fn is_redissons(field: &[u8]) -> bool {
    let Some((uuid, thread)) = field.split_first_chunk::<UUID>() else { return false };
    if [uuid[8], uuid[13], uuid[18], uuid[23], uuid[36]] != *b"----:" {
        return false;
    }
    let thread = thread.strip_suffix(WRITE_SUFFIX).unwrap_or(thread);
    !thread.is_empty() && thread.iter().all(u8::is_ascii_digit)
}

/// The owners that a hash names, in the order in which they came, while it is small.
pub(super) fn of_hash(hash: &Hash) -> impl Iterator<Item = &[u8]> {
    hash.iter().map(|(field, _)| field).filter(|field| *field != MODE_FIELD)
}

/// Looks at the owner that came first, if there is one.
#[inline]
pub(super) fn with_first<T>(value: &Value, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
    match value {
        Value::Hash(hash) => match hash.first() {
            Some((owner, _)) if owner != MODE_FIELD => Some(look(owner)),
            _ => of_hash(hash).next().map(look),
        },
        Value::Str(text) => Some(look(&text.text())),
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
