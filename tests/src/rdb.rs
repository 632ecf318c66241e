//! The parts of the format of stored values that tests change: versions and checksums.

use crate::rng::Rng;

/// Bytes at the end of a payload: the version and the checksum.
const FOOTER: usize = 10;

/// CRC-64 with Jones' polynomial, bit by bit.
pub fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u64::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0x95ac_9329_ac4b_c9b5 } else { crc >> 1 }
        })
    })
}

/// Returns a payload of this version, as DUMP answers it and RESTORE takes it.
pub fn sealed(body: &[u8], version: u16) -> Vec<u8> {
    let mut payload = body.to_vec();
    payload.extend(version.to_le_bytes());
    let crc = crc64(&payload);
    payload.extend(crc.to_le_bytes());
    payload
}

/// Returns a payload with a few of its bytes changed, cut or added, and a correct checksum.
///
/// # Panics
/// Panics if the payload has nothing but the footer.
pub fn spoilt(rng: &mut Rng, payload: &[u8]) -> Vec<u8> {
    const TELLING: [u8; 14] = [0, 1, 2, 5, 0x7f, 0x80, 0x81, 0xc0, 0xc1, 0xc2, 0xc3, 0xf0, 0xfe, 0xff];
    let mut body = payload[..payload.len() - FOOTER].to_vec();
    for _ in 0..=rng.below(3) {
        let at = rng.below(body.len());
        match rng.below(6) {
            0 => body.truncate(at.max(1)),
            1 if body.len() > 1 => drop(body.remove(at)),
            2 => body.insert(at, *rng.pick(&TELLING)),
            3 => body[at] ^= 1 << rng.below(8),
            4 => body[at] = *rng.pick(&TELLING),
            _ => body[at] = rng.below(256) as u8,
        }
    }
    sealed(&body, 11)
}

/// Returns a file converted to this version of Redis' format.
///
/// # Panics
/// Panics if the file is not in Redis' format.
pub fn file_of_version(file: &[u8], version: u16) -> Vec<u8> {
    let (body, _) = file.split_last_chunk::<8>().expect("a file ends with its checksum");
    let mut file = body.to_vec();
    file[..9].copy_from_slice(format!("REDIS{version:04}").as_bytes());
    let crc = crc64(&file);
    file.extend(crc.to_le_bytes());
    file
}
