//! The look-up of a command by its name, in any case.

use super::id::CommandId;
use lockwheel_store::memory::{block, vec_heap_bytes};

/// The most bytes of a name that is held in two words and found by one probe; longer names are few.
const SHORT: usize = 16;
/// The number of buckets for names, a power of two. At most half of the buckets are taken.
const BUCKETS: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 10;
/// The bit by which the two cases of a letter differ, in each byte of a word.
const CASE: u64 = 0x2020_2020_2020_2020;

/// All bytes of a name in two words, some of the bytes twice. `None` for an empty or a long name.
#[inline(always)]
fn words(name: &[u8]) -> Option<[u64; 2]> {
    match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) if name.len() <= SHORT => {
            return Some([u64::from_le_bytes(*first), u64::from_le_bytes(*last)]);
        }
        (Some(_), Some(_)) => return None,
        _ => {}
    }
    match (name.first_chunk(), name.last_chunk(), name) {
        (Some(first), Some(last), _) => {
            Some([u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into()])
        }
        (_, _, &[first, .., last]) => {
            Some([first.into(), u64::from(name[name.len() / 2]) << 8 | u64::from(last)])
        }
        (_, _, &[only]) => Some([only.into(), 0]),
        _ => None,
    }
}

/// The first bucket to look in. It does not depend on the case of the letters.
#[inline(always)]
fn first_bucket([first, last]: [u64; 2]) -> usize {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let hash = ((first | CASE).wrapping_mul(SPREAD) ^ (last | CASE)).wrapping_mul(SPREAD);
    (hash >> (u64::BITS - BUCKET_BITS)) as usize
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    words: [u64; 2],
    /// The bits that are compared with `words`: all but the case bits of letters.
    fixed: [u64; 2],
    /// The length of the name. 0 marks an empty bucket.
    len: u16,
    id: CommandId,
}

impl Bucket {
    fn new(name: &str, words: [u64; 2], id: CommandId) -> Self {
        let fixed = words.map(|word| {
            let letters = word.to_le_bytes().map(|byte| if byte.is_ascii_lowercase() { 0x20 } else { 0 });
            !u64::from_le_bytes(letters)
        });
        Bucket { words, fixed, len: name.len() as u16, id }
    }

    #[inline(always)]
    fn has(&self, [first, last]: [u64; 2], len: usize) -> bool {
        let differs = (first ^ self.words[0]) & self.fixed[0] | (last ^ self.words[1]) & self.fixed[1];
        differs == 0 && usize::from(self.len) == len
    }
}

#[derive(Debug)]
pub(super) struct Names {
    buckets: Box<[Bucket; BUCKETS]>,
    long: Vec<(Box<str>, CommandId)>,
}

impl Names {
    /// Bytes of heap that the table takes. O(long names).
    pub(super) fn heap_bytes(&self) -> usize {
        let long = self.long.iter().map(|(name, _)| block(name.len())).sum::<usize>();
        block(size_of_val(&*self.buckets)) + vec_heap_bytes(&self.long) + long
    }

    /// A table of names, each in lower case.
    ///
    /// # Panics
    /// Panics if two names are the same, or if there are too many names.
    pub(super) fn new<N: AsRef<str>>(names: &[(N, CommandId)]) -> Self {
        assert!(names.len() <= BUCKETS / 2, "there are buckets for {} commands", BUCKETS / 2);
        let mut table = Names { buckets: Box::new([Bucket::default(); BUCKETS]), long: Vec::new() };
        for (name, id) in names {
            let (name, id) = (name.as_ref(), *id);
            assert!(table.find(name.as_bytes()).is_none(), "the command '{name}' has two rows");
            match words(name.as_bytes()) {
                None => table.long.push((name.into(), id)),
                Some(words) => {
                    let mut index = first_bucket(words);
                    while table.buckets[index].len > 0 {
                        index = (index + 1) % BUCKETS;
                    }
                    table.buckets[index] = Bucket::new(name, words, id);
                }
            }
        }
        table
    }

    /// The command of this name, in any case. O(1).
    #[inline(always)]
    pub(super) fn find(&self, name: &[u8]) -> Option<CommandId> {
        let Some(words) = words(name) else { return self.find_long(name) };
        let mut index = first_bucket(words);
        loop {
            let bucket = &self.buckets[index];
            if bucket.has(words, name.len()) {
                return Some(bucket.id);
            }
            if bucket.len == 0 {
                return None;
            }
            index = (index + 1) % BUCKETS;
        }
    }

    #[cold]
    fn find_long(&self, name: &[u8]) -> Option<CommandId> {
        let same = |(long, _): &&(Box<str>, CommandId)| name.eq_ignore_ascii_case(long.as_bytes());
        self.long.iter().find(same).map(|(_, id)| *id)
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
    fn every_name_is_found_in_any_case() {
        let names = names();
        for (n, name) in SOME.iter().enumerate() {
            for spelled in [name.to_string(), name.to_uppercase(), name[..1].to_uppercase() + &name[1..]] {
                assert_eq!(names.find(spelled.as_bytes()), Some(CommandId::new(n)), "{spelled}");
            }
        }
        assert_eq!(names.find(b""), None);
        assert_eq!(names.find(b"\0"), None, "what is nowhere is not taken for an empty bucket");
        assert_eq!(names.find(b"lock\x0eacquire"), None, "only letters have cases");
    }

    proptest! {
        #[test]
        fn unknown_names_are_not_found(name in prop::collection::vec(any::<u8>(), 0..24)) {
            let known = SOME.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()));
            prop_assert_eq!(names().find(&name), known.map(CommandId::new));
        }

        #[test]
        fn names_that_differ_in_one_byte_are_distinguished(
            which in 0..SOME.len(),
            at in any::<prop::sample::Index>(),
            to: u8,
        ) {
            let mut name = SOME[which].as_bytes().to_vec();
            let at = at.index(name.len());
            name[at] = to;
            let known = SOME.iter().position(|known| name.eq_ignore_ascii_case(known.as_bytes()));
            prop_assert_eq!(names().find(&name), known.map(CommandId::new));
        }
    }
}
