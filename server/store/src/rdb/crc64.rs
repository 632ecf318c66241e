//! The checksum of the format: CRC-64 with Jones' polynomial, reflected, without inversion.

/// The polynomial 0xad93d23594c935a9, its bits in reverse.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

/// The contribution of a byte that has `i` bytes after it in a word, in table `i`.
const TABLES: &[[u64; 256]; 8] = &tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u64, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let crc: u64 = tables[table - 1][byte];
            tables[table][byte] = tables[0][(crc & 0xff) as usize] ^ crc >> 8;
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// The checksum of `bytes`. O(bytes), eight at a time.
pub(super) fn crc64(bytes: &[u8]) -> u64 {
    crc64_on(0, bytes)
}

/// The checksum of earlier bytes with the checksum `before`, followed by `bytes`. O(bytes).
pub(super) fn crc64_on(before: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let crc = words.iter().fold(before, |crc: u64, word| {
        let mixed = (crc ^ u64::from_le_bytes(*word)).to_le_bytes();
        mixed.iter().zip(TABLES.iter().rev()).fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)])
    });
    rest.iter().fold(crc, |crc, byte| TABLES[0][usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_equals_that_of_the_catalogue() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        assert_eq!(crc64(b""), 0);
    }

    proptest! {
        #[test]
        fn checksums_by_words_equal_those_by_bits(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let bit_by_bit = bytes.iter().fold(0, |crc, byte| {
                (0..8).fold(crc ^ u64::from(*byte), |crc, _| {
                    if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 }
                })
            });
            prop_assert_eq!(crc64(&bytes), bit_by_bit);
            let (one, other) = bytes.split_at(bytes.len() / 3);
            prop_assert_eq!(crc64_on(crc64(one), other), bit_by_bit);
        }
    }
}
