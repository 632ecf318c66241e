//! Bitmaps, as a client sees them.

use lockwheel_tests::family::{self, compare_lines};
use lockwheel_tests::redis_server::Kind;

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const BAD_OFFSET: &str = "-ERR bit offset is not an integer or out of range";

#[test]
fn bits_are_set_and_read() {
    family::same_everywhere(|s| {
        s.check("SETBIT b 1 1", ":0")
            .check("SETBIT b 1 0", ":1")
            .check("SETBIT b 10 1", ":0")
            .check("GETBIT b 10", ":1")
            .check("GETBIT b 4294967295", ":0")
            .check("GETBIT none 0", ":0")
            .check("GET b", r#""\x00 ""#)
            .check("OBJECT ENCODING b", "\"raw\"")
            .check("BITCOUNT b", ":1")
            .check("BITCOUNT b 0 0", ":0")
            .check("BITCOUNT b -6 -6 BIT", ":1")
            .check("BITPOS b 1", ":10")
            .check("BITPOS b 1 -1 -1 BYTE", ":10")
            .check("BITPOS b 0 10 -1 BIT", ":11")
            .check("BITPOS none 0", ":0")
            .check("BITPOS none 1", ":-1")
            .check("LPUSH l a", ":1")
            .check("SETBIT l 0 1", WRONG_TYPE)
            .check("GETBIT l 0", WRONG_TYPE)
            .check("BITCOUNT l", WRONG_TYPE)
            .check("BITPOS l 1", WRONG_TYPE);
    });
}

#[test]
fn bitpos_finds_a_zero_behind_a_string_of_ones_unless_an_end_is_given() {
    family::same_everywhere(|s| {
        s.check(r#"SET b "\xff\xff""#, "+OK")
            .check("BITPOS b 0", ":16")
            .check("BITPOS b 0 1", ":16")
            .check("BITPOS b 0 0 -1", ":-1")
            .check("BITPOS b 0 3", ":-1")
            .check("BITPOS b 0 0 5 BIT", ":-1")
            .check("SET empty ''", "+OK")
            .check("BITPOS empty 0", ":-1");
    });
}

/// CVE-2021-32761: offsets that wrap around 32 bits, or around 64 when they are multiplied.
#[test]
fn cve_2021_32761_offsets_beyond_the_longest_string_are_refused() {
    family::same_everywhere(|s| {
        for offset in
            ["4294967296", "8589934592", "9223372036854775807", "9223372036854775808", "-1", "1.5", ""]
        {
            s.check(&format!("SETBIT b '{offset}' 1"), BAD_OFFSET)
                .check(&format!("GETBIT b '{offset}'"), BAD_OFFSET)
                .check(&format!("BITFIELD b SET u8 '{offset}' 1"), BAD_OFFSET)
                .check(&format!("BITFIELD_RO b GET i64 '{offset}'"), BAD_OFFSET);
        }
        for offset in ["#536870912", "#1152921504606846975", "#-1", "#", "##1", "#1.5"] {
            s.check(&format!("BITFIELD b INCRBY i8 {offset} 1"), BAD_OFFSET);
        }
        s.check("SETBIT b #1 1", BAD_OFFSET).check("EXISTS b", ":0");
    });
}

#[test]
fn a_wide_field_number_times_its_width_does_not_wrap() {
    // Real servers multiply without a check.
    family::same_on(&[], |s| {
        s.check("BITFIELD b SET u4 #4611686018427387904 1", BAD_OFFSET).check("EXISTS b", ":0");
    });
}

#[test]
fn strings_are_combined_bit_by_bit() {
    family::same_everywhere(|s| {
        s.check(r#"MSET a "\xf0\x0f" b "\xff" n 12"#, "+OK")
            .check("BITOP AND d a b", ":2")
            .check("GET d", r#""\xf0\x00""#)
            .check("BITOP OR d a b", ":2")
            .check("GET d", r#""\xff\x0f""#)
            .check("BITOP XOR d a b none", ":2")
            .check("GET d", r#""\x0f\x0f""#)
            .check("BITOP NOT d a", ":2")
            .check("GET d", r#""\x0f\xf0""#)
            .check("BITOP OR d n", ":2")
            .check("GET d", "\"12\"")
            .check("OBJECT ENCODING d", "\"raw\"")
            .check("BITOP AND d none", ":0")
            .check("EXISTS d", ":0");
    });
}

#[test]
fn fields_wrap_saturate_or_fail() {
    family::same_everywhere(|s| {
        s.check("BITFIELD f SET u8 0 255 GET i8 0", "[:0, :-1]")
            .check("BITFIELD f INCRBY u8 0 1", "[:0]")
            .check("BITFIELD f OVERFLOW SAT INCRBY u8 0 300 INCRBY i8 8 -300", "[:255, :-128]")
            .check("BITFIELD f OVERFLOW FAIL INCRBY u8 0 1 OVERFLOW WRAP INCRBY u8 0 2", "[(nil), :1]")
            .check("BITFIELD f GET u4 4 GET i64 0 GET u63 #1", "[:1, :108086391056891904, :0]")
            .check("BITFIELD f OVERFLOW SAT SET u8 0 -1", "[:1]")
            .check(
                "BITFIELD least OVERFLOW SAT SET i8 0 -9223372036854775808 SET i8 0 -300 GET i8 0",
                "[:0, :127, :-128]",
            )
            .check("BITFIELD least OVERFLOW SAT SET i1 0 -9223372036854775808 GET i1 0", "[:-1, :0]")
            .check("BITFIELD_RO f GET u8 0", "[:255]")
            .check("BITFIELD_RO f SET u8 0 1", "-ERR BITFIELD_RO only supports the GET subcommand")
            .check("BITFIELD f", "[]");
    });
}

#[test]
fn changes_and_misses_are_published() {
    family::same_everywhere(|s| {
        s.check("CONFIG SET notify-keyspace-events EAm", "+OK");
        family::listen(s);
        s.check("SETBIT b 7 1", ":0").check("SETBIT b 7 1", ":1").check("SETBIT b 8 0", ":0");
        s.check("BITFIELD b SET u8 0 1 GET u8 100", "[:1, :0]").check("BITFIELD b INCRBY u8 0 1", "[:2]");
        s.check("BITFIELD n OVERFLOW FAIL SET u8 0 256", "[(nil)]").check("EXISTS n", ":1");
        family::expect_events(s, "setbit b, setbit b, setbit b");
        s.check("BITOP OR d b none x", ":2").check("BITOP OR d none", ":0").check("BITOP OR d none", ":0");
        family::expect_events(s, "keymiss none, keymiss x, set d, keymiss none, del d, keymiss none");
        s.check("BITCOUNT none", ":0").check("BITPOS none 1", ":-1").check("GETBIT none 1", ":0");
        family::expect_events(s, "keymiss none, keymiss none, keymiss none");
        s.check("BITFIELD none GET u8 0", "[:0]").check("DEL b", ":1");
        family::expect_events(s, "keymiss none, del b");
    });
}

#[test]
fn the_type_of_a_bit_field_ends_at_a_nul() {
    family::same_on(&[Kind::Redis], |s| {
        s.check(r#"BITFIELD f SET "u8\x00x" 0 63"#, "[:0]");
    });
}

#[test]
fn bitmaps_answer_as_real_servers() {
    compare_lines(Kind::Redis, BITMAPS);
    compare_lines(Kind::Valkey, BITMAPS);
}

const BITMAPS: &str = r#"
    SETBIT b 7 1
    SETBIT b 7 2
    SETBIT b 7 -1
    SETBIT b 7 x
    SETBIT b x x
    SETBIT b 7 01
    SETBIT b 9223372036854775807 1
    SETBIT b
    SET n 1234
    SETBIT n 6 1
    GET n
    OBJECT ENCODING n
    SET n 5
    SETBIT n 2 1
    OBJECT ENCODING n
    SET t hello
    SETBIT t 100 0
    GET t
    EXPIRE t 100000
    SETBIT t 3 1
    TTL t
    LPUSH l a
    SETBIT l 4294967296 1
    SETBIT l 1 x
    GETBIT l x
    GETBIT n 0
    SET n 5
    GETBIT n 2
    OBJECT ENCODING n
    SET m foobar
    BITCOUNT m
    BITCOUNT m 0 0
    BITCOUNT m 1 1
    BITCOUNT m 1 1 BYTE
    BITCOUNT m 5 30 BIT
    BITCOUNT m -30 -5 bit
    BITCOUNT m -5 -30 bit
    BITCOUNT m -500 -400
    BITCOUNT m -400 -500
    BITCOUNT m 3 2
    BITCOUNT m 0 100
    BITCOUNT m 100 200
    BITCOUNT m 9223372036854775807 9223372036854775807 BIT
    BITCOUNT m -9223372036854775808 9223372036854775807 BIT
    BITCOUNT m 9223372036854775807 -9223372036854775808
    BITCOUNT m 0
    BITCOUNT m 0 1 FOO
    BITCOUNT m x 1 FOO
    BITCOUNT m 0 x FOO
    BITCOUNT m 0 1 BIT BIT
    BITCOUNT none
    BITCOUNT none 0 -1
    BITCOUNT none x y
    BITCOUNT none 0 1 FOO
    BITCOUNT l 0 1 FOO
    BITCOUNT l x y
    SET n 123
    BITCOUNT n
    BITPOS m 1
    BITPOS m 0
    BITPOS m 1 1
    BITPOS m 1 -1
    BITPOS m 1 -100
    BITPOS m 1 2 1
    BITPOS m 1 100
    BITPOS m 0 100
    BITPOS m 1 7 15 BIT
    BITPOS m 0 7 15 BIT
    BITPOS m 0 7 -1 BIT
    BITPOS m 1 -7 -1 BIT
    BITPOS m 1 -1 -7 BIT
    BITPOS m 1 0 9223372036854775807 BIT
    BITPOS m 1 -9223372036854775808 9223372036854775807 BYTE
    BITPOS m 2
    BITPOS m -1
    BITPOS m x
    BITPOS m 1 x
    BITPOS m 1 0 x
    BITPOS m 1 0 x FOO
    BITPOS m 1 0 1 FOO
    BITPOS m 1 0 1 BIT BIT
    BITPOS m 1 0 BIT
    BITPOS none 1 x
    BITPOS none 1 0 -1 BIT
    BITPOS none 0 0 -1 BIT
    BITPOS none 0 5 6
    BITPOS none 1 0 1 FOO
    BITPOS l 2
    BITPOS l 1 x
    SET ones "\xff\xff\xff"
    BITPOS ones 0
    BITPOS ones 0 1
    BITPOS ones 0 1 2
    BITPOS ones 0 3
    BITPOS ones 0 0 -1 BIT
    SET zeros "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    BITPOS zeros 1
    BITPOS zeros 0 5
    SET "" ""
    BITPOS "" 0
    BITPOS "" 1
    BITCOUNT ""
    BITOP AND d m ones
    GET d
    BITOP or d m ones none
    GET d
    BITOP XOR d m m
    GET d
    BITOP XOR m m ones
    GET m
    BITOP NOT d m
    GET d
    BITOP NOT d
    BITOP NOT d m m
    BITOP NAND d m m
    BITOP NOT d l
    BITOP AND d m l
    BITOP AND d none l
    BITOP FOO d l
    BITOP AND l m
    TYPE l
    EXPIRE d 100000
    BITOP OR d m
    TTL d
    BITOP OR d none none2
    EXISTS d
    BITOP OR d none
    BITOP OR d ""
    LPUSH l a
    BITFIELD l
    BITFIELD l GET u8 0
    BITFIELD l SET u8 0 1
    BITFIELD none
    BITFIELD none GET u8 0 GET u8 100
    EXISTS none
    BITFIELD f SET u8 0 1 GET u8 0 INCRBY u8 0 -2
    BITFIELD f SET i8 0 -128 INCRBY i8 0 -1
    BITFIELD f OVERFLOW SAT SET i8 0 200 SET i8 0 -200 GET i8 0
    BITFIELD f OVERFLOW FAIL SET i8 0 200 SET i8 0 -200 GET i8 0
    BITFIELD f OVERFLOW SAT SET u8 0 -1 GET u8 0 INCRBY u8 0 -400 INCRBY u8 0 400
    BITFIELD f SET u8 0 -1 GET u8 0
    BITFIELD f SET i64 0 9223372036854775807 INCRBY i64 0 1
    BITFIELD f OVERFLOW SAT INCRBY i64 0 -9223372036854775808 INCRBY i64 0 -1
    BITFIELD f OVERFLOW SAT INCRBY i64 0 9223372036854775807 INCRBY i64 0 9223372036854775807
    BITFIELD f OVERFLOW FAIL INCRBY i64 0 9223372036854775807 INCRBY i64 0 9223372036854775807
    BITFIELD f SET u63 0 9223372036854775807 INCRBY u63 0 1 GET u63 0
    BITFIELD f OVERFLOW SAT SET u63 0 -1 INCRBY u63 0 9223372036854775807
    BITFIELD f SET u63 3 -1 GET u63 3 GET i64 3
    BITFIELD f SET u1 0 1 SET u1 1 0 SET u1 2 3 GET u3 0
    BITFIELD f OVERFLOW SAT INCRBY i1 0 1 INCRBY i1 0 -1 INCRBY i1 0 -1
    BITFIELD f INCRBY i1 0 1
    BITFIELD f SET u5 #3 17 GET u5 15 GET u8 #1 GET i5 #3
    BITFIELD f GET u64 0
    BITFIELD f GET i65 0
    BITFIELD f GET u0 0
    BITFIELD f GET i-1 0
    BITFIELD f GET I8 0
    BITFIELD f GET u 0
    BITFIELD f GET "" 0
    BITFIELD f GET " u8" 0
    BITFIELD f GET u08 0
    BITFIELD f GET u8 x
    BITFIELD f GET u8
    BITFIELD f SET u8 0
    BITFIELD f SET u8 0 x
    BITFIELD f SET u8 0 9223372036854775808
    BITFIELD f SET u64 x x
    BITFIELD f SET u8 x x
    BITFIELD f INCRBY u8 0
    BITFIELD f OVERFLOW
    BITFIELD f OVERFLOW FOO
    BITFIELD f OVERFLOW WRAP
    BITFIELD f OVERFLOW WRAP OVERFLOW SAT GET u8 0
    BITFIELD f FOO
    BITFIELD f SET u8 0 7 FOO
    GET f
    BITFIELD f SET u8 #0 7 GET u8 # SET u8 0 9
    GET f
    BITFIELD g OVERFLOW FAIL SET u8 0 256
    GET g
    BITFIELD g SET u8 100 0 GET u8 1000
    STRLEN g
    BITFIELD_RO g GET u8 0
    BITFIELD_RO g GET u8 0 GET i3 #7
    BITFIELD_RO g
    BITFIELD_RO g SET u8 0 1
    BITFIELD_RO g INCRBY u8 0 1
    BITFIELD_RO g INCRBY u8 0 x
    BITFIELD_RO g OVERFLOW SAT GET u8 0
    BITFIELD_RO l GET u8 0
    BITFIELD_RO l SET u8 0 1
    SET n 12
    BITFIELD n GET u8 0
    OBJECT ENCODING n
    BITFIELD n INCRBY u8 8 1
    OBJECT ENCODING n
    GET n
"#;
