//! LCS, as a client sees it.

use lockwheel_tests::family::{self, compare_lines};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::Kind;

#[test]
fn the_longest_common_subsequence_is_found() {
    family::same_everywhere(|s| {
        s.check("MSET a ohmytext b mynewtext", "+OK")
            .check("LCS a b", "\"mytext\"")
            .check("LCS a b LEN", ":6")
            .check3(
                "LCS a b IDX",
                r#"["matches", [[[:4, :7], [:5, :8]], [[:2, :3], [:0, :1]]], "len", :6]"#,
                r#"{"matches": [[[:4, :7], [:5, :8]], [[:2, :3], [:0, :1]]], "len": :6}"#,
            )
            .check3(
                "LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN",
                r#"["matches", [[[:4, :7], [:5, :8], :4]], "len", :6]"#,
                r#"{"matches": [[[:4, :7], [:5, :8], :4]], "len": :6}"#,
            )
            .check("LCS a none", "\"\"");
    });
}

/// CVE-2021-29477 and CVE-2021-32625: strings whose table would exceed memory.
#[test]
fn cve_2021_29477_and_32625_large_strings_are_refused() {
    let too_large = "-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
    family::same_everywhere(|s| {
        s.check("SETRANGE a 49999999 x", ":50000000").check("SETRANGE b 49999999 x", ":50000000");
        for options in ["", "LEN", "IDX", "IDX MINMATCHLEN 4 WITHMATCHLEN"] {
            s.check(&format!("LCS a b {options}"), too_large);
        }
        // The largest allowed size: 11,584 and one more byte are 512 MiB.
        s.check("DEL a b", ":2").check("SETRANGE a 11583 x", ":11584").check("SETRANGE b 11584 x", ":11585");
        s.check("LCS a b LEN", too_large);
    });
}

#[test]
fn the_largest_table_is_built_quickly() {
    let mut s = ours::scenario();
    s.check("SETRANGE a 11583 x", ":11584")
        .check("SETRANGE b 11583 x", ":11584")
        .check("LCS a b LEN", ":11584");
    // One byte against many.
    s.check("SET a x", "+OK").check("SETRANGE b 60000000 x", ":60000001").check("LCS a b", "\"x\"");
}

#[test]
fn subsequences_answer_as_real_servers() {
    compare_lines(Kind::Redis, LINES);
    compare_lines(Kind::Valkey, LINES);
}

const LINES: &str = r#"
    MSET a ohmytext b mynewtext n 12345 m 1425 e ""
    LCS a b
    LCS b a
    LCS a b IDX
    LCS b a IDX WITHMATCHLEN
    LCS a b IDX MINMATCHLEN 4
    LCS a b IDX MINMATCHLEN -1
    LCS a b IDX MINMATCHLEN 100
    LCS a b MINMATCHLEN 4 WITHMATCHLEN
    LCS a b LEN WITHMATCHLEN
    LCS a b LEN IDX
    LCS a b IDX LEN MINMATCHLEN x
    LCS a b MINMATCHLEN
    LCS a b MINMATCHLEN x
    LCS a b FOO
    LCS a
    LCS a a
    LCS a a IDX
    LCS n m
    LCS n m IDX
    LCS a e
    LCS e e IDX
    LCS none none2 LEN
    LCS none none2
    LCS none none2 IDX
    LPUSH l x
    LCS a l
    LCS l a FOO
    LCS none l
    SET x "AGCATAGCATAGCATTTTGACGACGATCGATCGATTTAGCGAGCTACGATCATCAGCTAGCTACGATTTACGATCGATCAGCTAC"
    SET y "GACTTACGATTTACGACGATTGCATCGATCAGCGGGATCATTACGATCGATTTTTAGCGCGATATCTTAGCGAGCTAGTTTAGCA"
    LCS x y
    LCS y x
    LCS x y IDX WITHMATCHLEN
    LCS y x IDX WITHMATCHLEN MINMATCHLEN 2
    LCS x y LEN
"#;
