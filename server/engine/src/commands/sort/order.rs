//! The order of elements, and the sorting.

use super::NOT_A_DOUBLE;
use super::elements::Elements;
use super::pattern::Pattern;
use crate::spec::{CommandError, quotable};
use lockwheel_resp::number;
use lockwheel_store::keyspace::Tx;
use std::cmp::Ordering;
use std::ops::Range;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum By<'a> {
    /// No BY: the elements themselves are compared.
    #[default]
    Element,
    /// The values of keys are compared.
    Pattern(Pattern<'a>),
    /// A pattern without `*`: the elements stay in their own order.
    Nothing,
}

impl<'a> By<'a> {
    pub(super) fn parse(text: &'a [u8]) -> Self {
        match Pattern::parse(text) {
            Pattern::Constant | Pattern::Element => By::Nothing,
            pattern => By::Pattern(pattern),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SortOrder<'a> {
    by: Option<Pattern<'a>>,
    alpha: bool,
    descending: bool,
    /// Whether texts are compared byte by byte, for stored results.
    bytewise: bool,
    /// Whether stored texts of equal weights are ordered by their elements, since these have no order of their own.
    unordered: bool,
}

/// The value by which an element is compared.
#[derive(Clone, Copy, Debug)]
enum Weight<'a> {
    Number(f64),
    Text(Option<&'a [u8]>),
}

impl<'a> SortOrder<'a> {
    /// The order by the elements themselves, as texts.
    pub(super) const TEXT: SortOrder<'static> =
        SortOrder { by: None, alpha: true, descending: false, bytewise: false, unordered: false };

    /// The requested order. `None` if none is requested.
    pub(super) fn new(by: &By<'a>, alpha: bool) -> Option<Self> {
        let by = match *by {
            By::Element => None,
            By::Pattern(pattern) => Some(pattern),
            By::Nothing => return None,
        };
        Some(SortOrder { by, alpha, ..SortOrder::TEXT })
    }

    pub(super) fn reversed(self, descending: bool) -> Self {
        SortOrder { descending, ..self }
    }

    /// The order for a stored result: byte by byte. A set's elements are `unordered`: their order differs on replicas.
    pub(super) fn stored(self, unordered: bool) -> Self {
        SortOrder { bytewise: true, unordered, ..self }
    }

    /// Sorts elements, at least the shown ones. O(n log n); O(n) if few are shown. Fails if a needed number is none.
    pub(super) fn sort(
        self,
        tx: &mut Tx<'_>,
        mut elements: Elements,
        shown: Range<usize>,
    ) -> Result<Elements, CommandError> {
        let weights = self.weights(tx, &elements)?;
        let mut order: Vec<(Weight<'_>, usize)> = weights.iter(&elements).zip(0..).collect();
        let compare = |(a, at): &(Weight<'_>, usize), (b, bt): &(Weight<'_>, usize)| {
            let weighed = match (a, b) {
                (Weight::Number(a), Weight::Number(b)) => {
                    // Equal numbers are ordered by their elements.
                    a.partial_cmp(b)
                        .unwrap_or(Ordering::Equal)
                        .then_with(|| elements.get(*at).cmp(elements.get(*bt)))
                }
                (Weight::Text(Some(a)), Weight::Text(Some(b))) if !self.bytewise => {
                    quotable(a).cmp(quotable(b))
                }
                (Weight::Text(a), Weight::Text(b)) if self.unordered => {
                    a.cmp(b).then_with(|| elements.get(*at).cmp(elements.get(*bt)))
                }
                (Weight::Text(a), Weight::Text(b)) => a.cmp(b),
                _ => Ordering::Equal,
            };
            let weighed = if self.descending { weighed.reverse() } else { weighed };
            // Equal elements keep their order.
            weighed.then(at.cmp(bt))
        };
        let Range { start, end } = shown;
        if start < end && end < order.len() {
            order.select_nth_unstable_by(end - 1, compare);
            order.truncate(end);
        }
        if 0 < start && start < order.len() {
            order.select_nth_unstable_by(start, compare);
        }
        if let Some(shown) = order.get_mut(start..) {
            shown.sort_unstable_by(compare);
        }
        let order: Vec<usize> = order.into_iter().map(|(_, index)| index).collect();
        elements.reorder(order.into_iter());
        Ok(elements)
    }

    /// The value by which each element is compared.
    fn weights(self, tx: &mut Tx<'_>, elements: &Elements) -> Result<Weights, CommandError> {
        let all = (0..elements.len()).map(|index| elements.get(index));
        let not_a_double = CommandError::text(NOT_A_DOUBLE);
        match (self.by, self.alpha) {
            (None, true) => Ok(Weights::Elements),
            (None, false) => {
                all.map(parse_number).collect::<Option<_>>().map(Weights::Numbers).ok_or(not_a_double)
            }
            (Some(by), true) => {
                let (mut texts, mut numbers) = (Elements::default(), Vec::with_capacity(elements.len()));
                for element in all {
                    by.with_value(tx, element, |value| {
                        numbers.push(value.map(|_| texts.len()));
                        value.into_iter().for_each(|value| texts.push(value));
                    });
                }
                Ok(Weights::Texts(texts, numbers))
            }
            (Some(by), false) => {
                // All keys are looked up, also behind a key that holds no number, because look-ups are counted.
                let numbers: Vec<Option<f64>> = all
                    .map(|element| by.with_value(tx, element, |value| value.map_or(Some(0.0), parse_number)))
                    .collect();
                numbers.into_iter().collect::<Option<_>>().map(Weights::Numbers).ok_or(not_a_double)
            }
        }
    }
}

enum Weights {
    Elements,
    Numbers(Vec<f64>),
    /// Texts, and the index of the text of each element.
    Texts(Elements, Vec<Option<usize>>),
}

impl Weights {
    fn iter<'a>(&'a self, elements: &'a Elements) -> impl Iterator<Item = Weight<'a>> {
        (0..elements.len()).map(|index| match self {
            Weights::Elements => Weight::Text(Some(elements.get(index))),
            Weights::Numbers(numbers) => Weight::Number(numbers[index]),
            Weights::Texts(texts, numbers) => Weight::Text(numbers[index].map(|number| texts.get(number))),
        })
    }
}

/// Reads a whole text, up to a NUL, like C's `strtod`; an empty text is 0. `None`: no number, or out of range.
fn parse_number(text: &[u8]) -> Option<f64> {
    let text = quotable(text);
    if text.is_empty() {
        return Some(0.0);
    }
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'\x0b';
    let start = text.iter().position(|byte| !is_space(byte))?;
    let value = number::parse_f64(&text[start..])?;
    (!value.is_subnormal()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_does() {
        for (text, number) in [
            (&b""[..], Some(0.0)),
            (b"1.5", Some(1.5)),
            (b" \t\n\x0b1", Some(1.0)),
            (b"1\0x", Some(1.0)),
            (b"0x10", Some(16.0)),
            (b"-inf", Some(f64::NEG_INFINITY)),
            (b" ", None),
            (b"1 ", None),
            (b"nan", None),
            (b"1e400", None),
            (b"1e-320", None),
            (b"x", None),
        ] {
            assert_eq!(parse_number(text), number, "{}", text.escape_ascii());
        }
    }
}
