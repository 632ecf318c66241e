//! The slot of a key: the CRC16 of the key or of its tag, the part between braces.

pub(crate) const SLOTS: u16 = 16384;

/// The polynomial of XMODEM's CRC16.
const POLYNOMIAL: u16 = 0x1021;

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ POLYNOMIAL };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

/// Returns the part of a key that decides its slot: between the first `{` and the next `}`, unless empty.
fn tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else { return key };
    let rest = &key[open + 1..];
    match rest.iter().position(|byte| *byte == b'}') {
        None | Some(0) => key,
        Some(close) => &rest[..close],
    }
}

/// Returns the slot of a key, below [`SLOTS`]. O(length of the key).
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    crc16(tag(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values were read from redis-server 7.0.15.
    #[test]
    fn slot_numbers_equal_those_of_redis() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [
            ("", 0),
            ("foo", 12182),
            ("{foo}bar", 12182),
            ("a{foo}b{bar}", 12182),
            ("{}foo", 9500),
            ("{foo", 13308),
            ("foo{{bar}}zap", 4015),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
    }
}
