//! The format of stored values, as far as tests change it: versions and checksums.

/// CRC-64 with Jones' polynomial, bit by bit.
pub fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u64::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0x95ac_9329_ac4b_c9b5 } else { crc >> 1 }
        })
    })
}

/// A payload of this version: what DUMP answers, RESTORE takes.
pub fn sealed(body: &[u8], version: u16) -> Vec<u8> {
    let mut payload = body.to_vec();
    payload.extend(version.to_le_bytes());
    let crc = crc64(&payload);
    payload.extend(crc.to_le_bytes());
    payload
}

/// A file as if it were of this version of Redis' format.
///
/// # Panics
/// When it is none.
pub fn file_of_version(file: &[u8], version: u16) -> Vec<u8> {
    let (body, _) = file.split_last_chunk::<8>().expect("a file ends with its checksum");
    let mut file = body.to_vec();
    file[..9].copy_from_slice(format!("REDIS{version:04}").as_bytes());
    let crc = crc64(&file);
    file.extend(crc.to_le_bytes());
    file
}
