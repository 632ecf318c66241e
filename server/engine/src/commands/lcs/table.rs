//! The table of the longest common subsequences of all prefixes, with one bit for each entry.
//!
//! From one prefix of `b` to the next, the length grows by one or not at all. A row, for a prefix of `a`, holds these
//! bits (0: the length grows). A row follows from the row before by one addition of long numbers, 64 entries at a time.
//! The bits are enough to trace a subsequence back. Source: Crochemore, Iliopoulos, Pinzon and Reid, "A fast and
//! practical bit-vector algorithm for the longest common subsequence problem".

/// A run of bytes that both strings have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) len: usize,
}

const BITS: usize = u64::BITS as usize;

/// The places of each byte in a string, as bits.
struct Places {
    /// The number of each byte among the wanted ones, plus 1. 0: the byte is not wanted.
    numbers: [usize; 256],
    words: usize,
    bits: Vec<u64>,
}

impl Places {
    /// Finds the places in `b` of the bytes of `a`. O(a + b), not quadratic in either.
    fn new(a: &[u8], b: &[u8]) -> Self {
        let (mut numbers, mut wanted, words) = ([0; 256], 0, b.len().div_ceil(BITS));
        for &byte in a {
            let number = &mut numbers[usize::from(byte)];
            if *number == 0 {
                wanted += 1;
                *number = wanted;
            }
        }
        let mut bits = vec![0; wanted * words];
        for (place, &byte) in b.iter().enumerate() {
            if let Some(number) = numbers[usize::from(byte)].checked_sub(1) {
                bits[number * words + place / BITS] |= 1 << (place % BITS);
            }
        }
        Places { numbers, words, bits }
    }

    fn of(&self, byte: u8) -> &[u64] {
        let from = (self.numbers[usize::from(byte)] - 1) * self.words;
        &self.bits[from..from + self.words]
    }
}

/// Turns a row into the next one. `places` are those of the next byte of `a`.
fn step(row: &mut [u64], places: &[u64]) {
    let mut carry = false;
    for (word, places) in row.iter_mut().zip(places) {
        let common = *word & places;
        let (sum, first) = word.overflowing_add(common);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        carry = first || second;
        *word = sum | (*word & !places);
    }
}

/// The number of zeros among the first `len` bits of a row: the number of times that the length grows.
fn grown(row: &[u64], len: usize) -> usize {
    let (whole, rest) = row.split_at(len / BITS);
    let zeros: usize = whole.iter().map(|word| word.count_zeros() as usize).sum();
    let last = rest.first().map_or(0, |word| !word & ((1 << (len % BITS)) - 1));
    zeros + last.count_ones() as usize
}

/// The length of the longest common subsequence. O(a b / 64).
pub(super) fn length(a: &[u8], b: &[u8]) -> usize {
    let places = Places::new(a, b);
    let mut row = vec![u64::MAX; places.words];
    a.iter().for_each(|byte| step(&mut row, places.of(*byte)));
    grown(&row, b.len())
}

#[derive(Debug)]
pub(super) struct Table<'a> {
    a: &'a [u8],
    b: &'a [u8],
    words: usize,
    /// A row for each byte of `a`.
    rows: Vec<u64>,
}

impl<'a> Table<'a> {
    /// Makes the table. O(a b / 64).
    pub(super) fn new(a: &'a [u8], b: &'a [u8]) -> Self {
        let places = Places::new(a, b);
        let mut row = vec![u64::MAX; places.words];
        let mut rows = Vec::with_capacity(a.len() * row.len());
        for byte in a {
            step(&mut row, places.of(*byte));
            rows.extend_from_slice(&row);
        }
        Table { a, b, words: row.len(), rows }
    }

    /// The length of the longest common subsequence.
    pub(super) fn length(&self) -> usize {
        match self.a.len().checked_sub(1) {
            Some(last) => grown(&self.rows[last * self.words..], self.b.len()),
            None => 0,
        }
    }

    /// Whether the length of `a` up to `i` grows from `b` up to `j - 1` to `b` up to `j`.
    fn grows(&self, i: usize, j: usize) -> bool {
        let word = self.rows[(i - 1) * self.words + (j - 1) / BITS];
        word >> ((j - 1) % BITS) & 1 == 0
    }

    /// The longest common subsequence that Redis would find. O(a + b).
    pub(super) fn subsequence(&self) -> Vec<u8> {
        let mut reversed = Vec::new();
        self.walk(|i, _| reversed.push(self.a[i]));
        reversed.reverse();
        reversed
    }

    /// The runs of common bytes, the last one first. O(a + b).
    pub(super) fn matches(&self) -> Vec<Match> {
        let mut matches: Vec<Match> = Vec::new();
        self.walk(|i, j| match matches.last_mut() {
            Some(last) if last.a == i + 1 && last.b == j + 1 => {
                *last = Match { a: i, b: j, len: last.len + 1 };
            }
            _ => matches.push(Match { a: i, b: j, len: 1 }),
        });
        matches
    }

    /// Goes from the ends of the strings to the beginning, and visits the places of the bytes of the subsequence.
    fn walk(&self, mut visit: impl FnMut(usize, usize)) {
        let (mut i, mut j) = (self.a.len(), self.b.len());
        while i > 0 && j > 0 {
            if self.a[i - 1] == self.b[j - 1] {
                (i, j) = (i - 1, j - 1);
                visit(i, j);
            } else if self.grows(i, j) {
                // One byte less of `b` would shorten the subsequence; one byte less of `a` does not.
                i -= 1;
            } else {
                j -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The textbook table, traced back in the way of Redis.
    fn by_the_book(a: &[u8], b: &[u8]) -> (usize, Vec<u8>) {
        let mut lengths = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 1..=a.len() {
            for j in 1..=b.len() {
                lengths[i][j] = match a[i - 1] == b[j - 1] {
                    true => lengths[i - 1][j - 1] + 1,
                    false => lengths[i - 1][j].max(lengths[i][j - 1]),
                };
            }
        }
        let (mut i, mut j, mut found) = (a.len(), b.len(), Vec::new());
        while i > 0 && j > 0 {
            if a[i - 1] == b[j - 1] {
                found.insert(0, a[i - 1]);
                (i, j) = (i - 1, j - 1);
            } else if lengths[i - 1][j] > lengths[i][j - 1] {
                i -= 1;
            } else {
                j -= 1;
            }
        }
        (lengths[a.len()][b.len()], found)
    }

    proptest! {
        #[test]
        fn the_bit_table_equals_the_table_of_numbers(a in "[a-d]{0,150}", b in "[a-d]{0,150}") {
            let (a, b) = (a.as_bytes(), b.as_bytes());
            let (len, subsequence) = by_the_book(a, b);
            let table = Table::new(a, b);
            prop_assert_eq!(length(a, b), len);
            prop_assert_eq!(table.length(), len);
            prop_assert_eq!(table.subsequence(), subsequence);
            let matches = table.matches();
            prop_assert_eq!(matches.iter().map(|found| found.len).sum::<usize>(), len);
            for Match { a: from, b: to, len } in matches {
                prop_assert_eq!(&a[from..from + len], &b[to..to + len]);
            }
        }
    }
}
