//! Patterns that make keys of elements: `weight_*`, `object_*->name`, `#`.

use crate::spec::quotable;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern<'a> {
    Element,
    /// The key made of two parts around the element, or a field of the hash at that key.
    Key {
        /// The part before the element.
        before: &'a [u8],
        /// The part behind the element.
        behind: &'a [u8],
        field: Option<&'a [u8]>,
    },
    /// A pattern without a place for the element. It has no value.
    Constant,
}

impl<'a> Pattern<'a> {
    /// Reads a pattern. A `*` or an arrow behind a NUL has no effect, as in C.
    pub(super) fn parse(text: &'a [u8]) -> Self {
        let seen = quotable(text);
        if seen == b"#" {
            return Pattern::Element;
        }
        let Some(star) = seen.iter().position(|byte| *byte == b'*') else { return Pattern::Constant };
        let before = &text[..star];
        let arrow = seen[star + 1..].windows(2).position(|two| two == b"->").map(|at| star + 1 + at);
        match arrow.filter(|at| at + 2 < seen.len()) {
            Some(at) => Pattern::Key { before, behind: &text[star + 1..at], field: Some(&text[at + 2..]) },
            None => Pattern::Key { before, behind: &text[star + 1..], field: None },
        }
    }

    /// Looks up the value of the pattern for an element. O(1).
    pub(super) fn with_value<R>(
        self,
        tx: &mut Tx<'_>,
        element: &[u8],
        look: impl FnOnce(Option<&[u8]>) -> R,
    ) -> R {
        match self {
            Pattern::Element => look(Some(element)),
            Pattern::Constant => look(None),
            Pattern::Key { before, behind, field } => {
                let key = [before, element, behind].concat();
                match (tx.get(&key), field) {
                    (Some(Value::Str(value)), None) => look(Some(&value.text())),
                    (Some(Value::Hash(hash)), Some(field)) => look(hash.get(field)),
                    _ => look(None),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_as_the_real_server_does() {
        let key = |before, behind, field| Pattern::Key { before, behind, field };
        for (text, expected) in [
            (&b"#"[..], Pattern::Element),
            (b"#x", Pattern::Constant),
            (b"", Pattern::Constant),
            (b"w_*", key(b"w_", b"", None)),
            (b"*", key(b"", b"", None)),
            (b"a*b*c", key(b"a", b"b*c", None)),
            (b"w_*->f", key(b"w_", b"", Some(b"f"))),
            (b"w_*x->f->g", key(b"w_", b"x", Some(b"f->g"))),
            (b"w_*->", key(b"w_", b"->", None)),
            (b"w->f*", key(b"w->f", b"", None)),
            (b"w\0*", Pattern::Constant),
            (b"w*\0->f", key(b"w", b"\0->f", None)),
        ] {
            assert_eq!(Pattern::parse(text), expected, "{}", text.escape_ascii());
        }
    }
}
