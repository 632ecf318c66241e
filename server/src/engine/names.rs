//! Finding a command by its name, whatever the case of its letters.

use super::table::CommandId;

/// Names up to this long are held in two words and found by one probe; the few longer ones one by one.
const SHORT: usize = 16;

/// A short name in lower case: its length, and two words that hold all its bytes, some of them twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Folded {
    words: [u64; 2],
    len: usize,
}

impl Folded {
    /// None for a name that is empty or long.
    #[inline]
    fn of(name: &[u8]) -> Option<Self> {
        let words = if let (8..=SHORT, Some(first), Some(last)) =
            (name.len(), name.first_chunk(), name.last_chunk())
        {
            [u64::from_le_bytes(*first), u64::from_le_bytes(*last)]
        } else if let (4..8, Some(first), Some(last)) = (name.len(), name.first_chunk(), name.last_chunk()) {
            [u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()]
        } else if let (1..4, Some(first), Some(last)) = (name.len(), name.first(), name.last()) {
            [u64::from(*first), u64::from(name[name.len() / 2]) << 8 | u64::from(*last)]
        } else {
            return None;
        };
        Some(Folded { words: words.map(lower), len: name.len() })
    }

    /// A number whose top bits are spread well.
    #[inline]
    fn hash(self) -> u64 {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let [first, last] = self.words;
        (first.wrapping_mul(SPREAD) ^ last).wrapping_mul(SPREAD)
    }
}

/// The eight letters of a word in lower case; all other bytes as they are.
#[inline]
fn lower(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let seven = word & (0x7f * EACH);
    let from_a = seven + (0x80 - u64::from(b'A')) * EACH;
    let beyond_z = seven + (0x7f - u64::from(b'Z')) * EACH;
    let letters = from_a & !beyond_z & !word & (0x80 * EACH);
    word | letters >> 2
}

/// One place of the table of short names.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    name: Folded,
    id: CommandId,
}

/// The names of commands: an open table, at most a quarter full.
#[derive(Debug)]
pub(super) struct Names {
    places: Vec<Place>,
    /// The bits of a hash that are no index.
    shift: u32,
    long: Vec<(&'static str, CommandId)>,
}

impl Names {
    /// A table of names, each in lower case.
    ///
    /// # Panics
    /// When two are the same.
    pub(super) fn new(names: &[(&'static str, CommandId)]) -> Self {
        let size = (names.len() * 4).next_power_of_two();
        let shift = u64::BITS - size.trailing_zeros();
        let mut table = Names { places: vec![Place::default(); size], shift, long: Vec::new() };
        for &(name, id) in names {
            assert!(table.find(name.as_bytes()).is_none(), "the command '{name}' has two rows");
            match Folded::of(name.as_bytes()) {
                None => table.long.push((name, id)),
                Some(folded) => {
                    let index = table.place_of(folded);
                    table.places[index] = Place { name: folded, id };
                }
            }
        }
        table
    }

    /// The command of this name, in any case. O(1).
    #[inline]
    pub(super) fn find(&self, name: &[u8]) -> Option<CommandId> {
        match Folded::of(name) {
            Some(folded) => {
                let place = &self.places[self.place_of(folded)];
                (place.name.len > 0).then_some(place.id)
            }
            None => self.find_long(name),
        }
    }

    /// The place that has this name, or that it would get.
    #[inline]
    fn place_of(&self, name: Folded) -> usize {
        let mut index = (name.hash() >> self.shift) as usize;
        while self.places[index].name != name && self.places[index].name.len > 0 {
            index = (index + 1) & (self.places.len() - 1);
        }
        index
    }

    #[cold]
    fn find_long(&self, name: &[u8]) -> Option<CommandId> {
        let same = |&&(long, _): &&(&str, CommandId)| name.eq_ignore_ascii_case(long.as_bytes());
        self.long.iter().find(same).map(|&(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOME: &[&str] = &[
        "a",
        "ab",
        "abc",
        "acl",
        "abcd",
        "get",
        "getdel",
        "lock.acquire",
        "a-name-of-sixteen",
        "a-name-of-16-let",
        "georadiusbymember_ro",
    ];

    fn names() -> Names {
        let named: Vec<_> = SOME.iter().enumerate().map(|(n, name)| (*name, CommandId::new(n))).collect();
        Names::new(&named)
    }

    #[test]
    fn finds_each_in_any_case() {
        let names = names();
        for (n, name) in SOME.iter().enumerate() {
            for spelled in [name.to_string(), name.to_uppercase(), name[..1].to_uppercase() + &name[1..]] {
                assert_eq!(names.find(spelled.as_bytes()), Some(CommandId::new(n)), "{spelled}");
            }
        }
        assert_eq!(names.find(b""), None);
        assert_eq!(names.find(b"lock\x0eacquire"), None, "only letters have cases");
    }

    proptest! {
        #[test]
        fn folds_as_ascii_does(bytes in any::<[u8; 8]>()) {
            let folded = lower(u64::from_le_bytes(bytes));
            prop_assert_eq!(folded.to_le_bytes(), bytes.map(|byte| byte.to_ascii_lowercase()));
        }

        #[test]
        fn finds_nothing_else(name in prop::collection::vec(any::<u8>(), 0..24)) {
            let known = SOME.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()));
            prop_assert_eq!(names().find(&name), known.map(CommandId::new));
        }

        #[test]
        fn tells_apart_what_differs_in_one_byte(which in 0..SOME.len(), at in any::<prop::sample::Index>(), to: u8) {
            let mut name = SOME[which].as_bytes().to_vec();
            let at = at.index(name.len());
            name[at] = to;
            let known = SOME.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()));
            prop_assert_eq!(names().find(&name), known.map(CommandId::new));
        }
    }
}
