//! The format's primitives against what redis-server 7.0.15 writes, and there and back.

use super::*;
use proptest::prelude::*;

fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    write(&mut writer);
    writer.written().to_vec()
}

#[test]
fn lengths_take_the_form_that_the_real_server_chooses() {
    for (length, bytes) in [
        (0, &b"\x00"[..]),
        (63, b"\x3f"),
        (64, b"\x40\x40"),
        (16_383, b"\x7f\xff"),
        (16_384, b"\x80\x00\x00\x40\x00"),
        (u32::MAX as usize, b"\x80\xff\xff\xff\xff"),
        (1 << 32, b"\x81\x00\x00\x00\x01\x00\x00\x00\x00"),
    ] {
        assert_eq!(written(|writer| writer.length(length)), bytes);
        assert_eq!(Reader::new(bytes).length(), Ok(length));
    }
    for bytes in [&b""[..], b"\x40", b"\x80\0\0\0", b"\x81\0\0\0\0\0\0\0", b"\x82\0\0\0\0\0\0\0\0", b"\xc0\0"]
    {
        assert_eq!(Reader::new(bytes).length(), Err(Corrupt), "{bytes:?}");
    }
}

#[test]
fn strings_take_the_form_that_the_real_server_chooses() {
    for (text, bytes) in [
        (&b""[..], &b"\x00"[..]),
        (b"a", b"\x01a"),
        (b"-128", b"\xc0\x80"),
        (b"128", b"\xc1\x80\x00"),
        (b"32768", b"\xc2\x00\x80\x00\x00"),
        (b"2147483648", b"\x0a2147483648"),
        (b"-2147483648", b"\xc2\x00\x00\x00\x80"),
        (b"01", b"\x0201"),
        (b"aaaaaaaaaaaaaaaaaaaa", b"\x14aaaaaaaaaaaaaaaaaaaa"),
        (b"aaaaaaaaaaaaaaaaaaaaa", b"\xc3\x06\x15\x01aa\xe0\x0a\x00"),
    ] {
        assert_eq!(written(|writer| writer.string(text)), bytes, "{}", text.escape_ascii());
        assert_eq!(Reader::new(bytes).string().as_deref(), Ok(text));
    }
}

#[test]
fn a_footer_is_checked() {
    // What redis-server 7.0.15 answers for `SET k 1`, `DUMP k`.
    let real = b"\x00\xc0\x01\n\x00&x\xe7\xb6\xd1\x01\x11\xfc";
    let mut writer = Writer::new();
    writer.byte(0);
    writer.string(b"1");
    let ours = writer.finish(payload::VERSION_7_0);
    assert_eq!(ours, real);
    assert_eq!(payload::open(real), Ok(&b"\x00\xc0\x01"[..]));
    for len in 0..real.len() {
        assert_eq!(payload::open(&real[..len]), Err(payload::WrongFooter));
    }
    for (version, is_known) in [(1, true), (11, true), (12, false), (79, false), (80, true), (81, false)] {
        let mut body = b"\x00\xc0\x01".to_vec();
        payload::seal(&mut body, version);
        assert_eq!(payload::open(&body).is_ok(), is_known, "{version}");
    }
}

proptest! {
    #[test]
    fn lengths_and_strings_come_back(
        lengths in prop::collection::vec(any::<usize>(), 0..10),
        texts in prop::collection::vec(prop_oneof!["[ab]{0,100}", "-?[0-9]{1,12}", ".{0,40}"], 0..10),
    ) {
        let bytes = written(|writer| {
            lengths.iter().for_each(|length| writer.length(*length));
            texts.iter().for_each(|text| writer.string(text.as_bytes()));
        });
        let mut reader = Reader::new(&bytes);
        for length in lengths {
            prop_assert_eq!(reader.length(), Ok(length));
        }
        for text in texts {
            let read = reader.string();
            prop_assert_eq!(read.as_deref(), Ok(text.as_bytes()));
        }
        prop_assert!(reader.is_at_end());
    }

    #[test]
    fn anything_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut reader = Reader::new(&bytes);
        while !reader.is_at_end() && reader.string().is_ok() {}
    }
}
