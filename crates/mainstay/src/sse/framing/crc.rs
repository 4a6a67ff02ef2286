//! CRC-32 as zlib and AWS event streams compute it (reflected, polynomial 0x04C11DB7).

const TABLE: [u32; 256] = table();

#[allow(clippy::indexing_slicing)] // evaluated by the compiler
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        let at = usize::from(crc as u8 ^ byte);
        (crc >> 8) ^ TABLE.get(at).copied().unwrap_or_default()
    })
}

#[test]
fn the_check_value_of_crc32_comes_out() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}
