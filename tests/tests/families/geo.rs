//! Places, against what a real server answers.

use lockwheel_tests::family::{self, expect_events, listen};
use lockwheel_tests::redis_server::Kind;

const SYNTAX: &str = "-ERR syntax error";
const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const SICILY: &str = "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania";

#[test]
fn geoadd_adds_and_moves_members() {
    family::same_everywhere(|s| {
        s.check(SICILY, ":2")
            .check("GEOADD g 13.361389 38.115556 Palermo 2 3 new", ":1")
            .check("GEOADD g CH 13 38 Palermo 2 3 new", ":1")
            .check("GEOADD g NX 1 1 Palermo 4 5 other", ":1")
            .check("GEOADD g XX CH 13.361389 38.115556 Palermo 1 1 nowhere", ":1")
            .check("GEOADD none XX 1 1 a", ":0")
            .check("EXISTS none", ":0")
            .check("ZRANGE g 0 -1", r#"["new", "other", "Palermo", "Catania"]"#);
    });
}

#[test]
fn a_refused_long_member_does_not_convert_the_set() {
    let long = "m".repeat(65);
    // Valkey 9.1 enlarges the set all the same.
    family::same_on(&[Kind::Redis], |s| {
        s.check("GEOADD g 1 1 a", ":1")
            .check(&format!("GEOADD g XX 1 2 {long}"), ":0")
            .check(&format!("ZADD g XX 2 {long}"), ":0")
            .check(&format!("ZADD g XX INCR 2 {long}"), "(nil)")
            .check("OBJECT ENCODING g", "\"listpack\"")
            .check3(&format!("ZINCRBY g 2 {long}"), "\"2\"", ",2")
            .check("OBJECT ENCODING g", "\"skiplist\"");
    });
}

#[test]
fn geopos_geohash_and_geodist_return_their_values() {
    family::same_everywhere(|s| {
        s.check(SICILY, ":2")
            .check3(
                "GEOPOS g Palermo none Catania",
                concat!(
                    r#"[["13.36138933897018433", "38.11555639549629859"], (nil), "#,
                    r#"["15.08726745843887329", "37.50266842333162032"]]"#
                ),
                r#"[[,13.361389338970184, ,38.1155563954963], (nil), [,15.087267458438873, ,37.50266842333162]]"#,
            )
            .check("GEOHASH g Palermo none Catania", r#"["sqc8b49rny0", (nil), "sqdtr74hyu0"]"#)
            .check("GEODIST g Palermo Catania", "\"166274.1516\"")
            .check("GEODIST g Palermo Catania KM", "\"166.2742\"")
            .check("GEODIST g Palermo Catania mi", "\"103.3182\"")
            .check("GEODIST g Palermo Catania Ft", "\"545518.8700\"")
            .check("GEODIST g Palermo Palermo", "\"0.0000\"")
            .check("GEODIST g Palermo none", "(nil)")
            .check("GEODIST none a b", "(nil)")
            .check("GEODIST none a b yd", "-ERR unsupported unit provided. please use M, KM, FT, MI")
            .check("GEODIST none a b yd x", SYNTAX)
            .check("GEOPOS none a", "[(nil)]")
            .check("GEOHASH none a", "[(nil)]")
            .check("GEOPOS g", "[]");
    });
}

#[test]
fn circles_and_boxes_are_searched() {
    family::same_everywhere(|s| {
        s.check(SICILY, ":2")
            .check("GEOADD g 12.758489 38.788135 edge1 17.241510 38.788135 edge2", ":2")
            .check("GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC", r#"["Catania", "Palermo"]"#)
            .check(
                "GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHDIST",
                r#"[["Catania", "56.4413"], ["Palermo", "190.4424"], ["edge2", "279.7403"], ["edge1", "279.7405"]]"#,
            )
            .check("GEOSEARCH g FROMMEMBER Palermo BYRADIUS 0 m", r#"["Palermo"]"#)
            .check("GEOSEARCH g FROMMEMBER Palermo BYBOX 0 0 m", r#"["Palermo"]"#)
            .check("GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km COUNT 2 DESC", r#"["edge1", "edge2"]"#)
            .check("GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km COUNT 1", r#"["Catania"]"#)
            .check3(
                "GEORADIUS g 15 37 100 km WITHCOORD WITHDIST WITHHASH",
                r#"[["Catania", "56.4413", :3479447370796909, ["15.08726745843887329", "37.50266842333162032"]]]"#,
                r#"[["Catania", "56.4413", :3479447370796909, [,15.087267458438873, ,37.50266842333162]]]"#,
            )
            .check("GEORADIUSBYMEMBER_RO g Catania 200 km WITHDIST DESC", {
                r#"[["Palermo", "166.2742"], ["Catania", "0.0000"]]"#
            })
            .check("GEORADIUS_RO g 0 0 1 m", "[]");
    });
}

#[test]
fn results_are_stored_with_their_scores_or_their_distances() {
    family::same_everywhere(|s| {
        s.check(SICILY, ":2");
        listen(s);
        s.check("SET d x", "+OK")
            .check("GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km", ":2")
            .check("GEODIST d Palermo Catania", "\"166274.1516\"")
            .check("GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km ASC COUNT 1 STOREDIST", ":1")
            .check("ZRANGEBYSCORE d 56.4412 56.4413", r#"["Catania"]"#)
            .check("GEORADIUS g 15 37 200 km STORE d", ":2")
            .check("GEORADIUSBYMEMBER g Catania 200 km STOREDIST d", ":2")
            .check("ZRANGE d 0 -1", r#"["Catania", "Palermo"]"#)
            .check("GEORADIUS g 0 0 1 m STORE d", ":0")
            .check("GEORADIUS g 15 37 200 km STORE d STOREDIST e", ":2")
            .check("EXISTS d", ":0")
            .check("GEOSEARCHSTORE e none FROMMEMBER a BYRADIUS 1 m", ":0")
            .check("GEOSEARCHSTORE g g FROMLONLAT 15 37 BYRADIUS 100 km", ":1");
        let told = "set d, geosearchstore d, geosearchstore d, georadiusstore d, georadiusstore d, del d, \
                    georadiusstore e, del e, geosearchstore g";
        expect_events(s, told);
    });
}

#[test]
fn requests_are_read_as_by_the_real_server() {
    family::compare_lines(
        Kind::Redis,
        "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
         SET str x
         GEOADD g NX XX 1 1 a
         GEOADD g NX nx CH ch 1 1 a
         GEOADD g ch nx 1 1
         GEOADD g CH CH CH
         GEOADD g 1 1 a 1
         GEOADD g 181 1 a
         GEOADD g 1 86 a
         GEOADD g 1 85.05112879 a
         GEOADD g inf 1 a
         GEOADD g nan 1 a
         GEOADD g 1 x a
         GEOADD g 200 x a
         GEOADD g 200 1e300 a
         GEOADD g 1 1 first 200 1 bad
         ZSCORE g first
         GEOADD g 0x10 -0 hex
         GEOADD g INCR 1 1 a
         GEOADD g 1 1 a XX
         GEOADD str 1 x a
         GEOADD str 1 1 a
         GEODIST str a b yd
         GEODIST str a b
         GEOPOS str
         GEOHASH str a
         GEOSEARCH str FROMMEMBER a BYRADIUS x y z w
         GEOSEARCH g FROMLONLAT 15 37 FROMMEMBER Palermo BYRADIUS 1 m
         GEOSEARCH g FROMLONLAT 15 37 FROMLONLAT 13 38 BYRADIUS 50 km
         GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 m BYBOX 1 1 m
         GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 1 m BYRADIUS 100 km
         GEOSEARCH g WITHDIST BYBOX 500 500 km DESC ASC FROMMEMBER Palermo WITHDIST
         GEOSEARCH g BYRADIUS 1 m COUNT 1 ANY
         GEOSEARCH g FROMMEMBER Palermo COUNT 1 ANY
         GeoSearch g ASC ASC ASC ASC ASC
         GEOSEARCH g FROMMEMBER none BYRADIUS x m
         GEOSEARCH none FROMMEMBER none BYRADIUS 1 m
         GEOSEARCH none FROMMEMBER none BYRADIUS x m
         GEOSEARCH none FROMMEMBER none BYRADIUS nan m
         GEOSEARCH none FROMMEMBER none BYRADIUS -1 yd
         GEOSEARCH none FROMMEMBER none BYRADIUS 1 yd
         GEOSEARCH none FROMMEMBER none BYBOX x -1 m
         GEOSEARCH none FROMMEMBER none BYBOX -1 x m
         GEOSEARCH none FROMMEMBER none BYBOX -1 1 m
         GEOSEARCH none FROMMEMBER none BYBOX 1 -1 yd
         GEOSEARCH none FROMMEMBER none BYBOX 1 1 yd
         GEOSEARCH none FROMLONLAT 200 1 BYBOX nan 1 yd
         GEOSEARCH none FROMLONLAT 1 1 BYBOX 1 1 m COUNT 0
         GEOSEARCH none FROMLONLAT 1 1 BYBOX 1 1 m COUNT -9223372036854775808
         GEOSEARCH none FROMLONLAT 1 1 BYBOX 1 1 m COUNT 9223372036854775807
         GEOSEARCH none FROMLONLAT 1 1 BYBOX 1 1 m COUNT 9223372036854775808
         GEOSEARCH none FROMLONLAT 1 1 BYBOX 1 1 m COUNT
         GEOSEARCH none FROMLONLAT 1 1 BYBOX 1 1 m STORE a
         GEOSEARCH none FROMLONLAT 1 1 BYBOX 1 1 m STOREDIST
         GEOSEARCH none FROMLONLAT 1 1 BYBOX 1 1 m WITHCOORDS",
    );
}

#[test]
fn requests_that_store_are_read_as_by_the_real_server() {
    family::compare_lines(
        Kind::Redis,
        "GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
         SET str x
         GEOSEARCHSTORE d g WITHDIST WITHDIST WITHDIST WITHDIST WITHDIST
         GEOSEARCHSTORE d g ASC ASC ASC ASC ASC
         GEOSEARCHSTORE d g FROMMEMBER Palermo ANY ANY ANY ANY
         GEOSEARCHSTORE d g FROMMEMBER Palermo BYRADIUS 1 m ANY
         GEOSEARCHSTORE d g FROMMEMBER Palermo BYRADIUS 1 m STOREDIST storedist
         GEORADIUS g 15 37 200 km STORE
         GEORADIUS g 15 37 200 km STORE d WITHDIST
         GEORADIUS g 15 37 200 km COUNT 0
         GEORADIUS g 15 37 200 km ANY
         GEORADIUS g 15 37 200 km FROMMEMBER x
         GEORADIUS g 15 37 -1 yd
         GEORADIUS g 15 37 x yd
         GEORADIUS none 190 37 x yd
         GEORADIUS none 19 37 1 yd
         GEORADIUS none 19 37 1 m STORE d
         GEORADIUS str 190 37 1 yd
         GEORADIUS_RO g 15 37 200 km STORE d
         GEORADIUSBYMEMBER g none x km
         GEORADIUSBYMEMBER g Palermo x yd
         GEORADIUSBYMEMBER none none x yd FOO
         GEORADIUSBYMEMBER none none x yd COUNT 0
         GEORADIUSBYMEMBER none none x yd STORE d WITHDIST
         GEORADIUSBYMEMBER none none x yd STORE d
         GEORADIUSBYMEMBER_RO g Palermo 200 km STOREDIST d
         COMMAND GETKEYS GEORADIUS g 1 1 1 m COUNT 1 STORE a STOREDIST b
         COMMAND GETKEYS GEORADIUSBYMEMBER g m 1 m STOREDIST b
         COMMAND GETKEYS GEOSEARCHSTORE d g FROMLONLAT 1 1 BYRADIUS 1 m",
    );
}

#[test]
fn a_key_of_another_type_is_refused() {
    family::same_everywhere(|s| {
        s.check("SET str x", "+OK");
        for line in [
            "GEOADD str 1 1 a",
            "GEODIST str a b",
            "GEOHASH str a",
            "GEOPOS str a",
            "GEOSEARCH str FROMLONLAT 1 1 BYRADIUS 1 m",
            "GEOSEARCHSTORE d str FROMLONLAT 1 1 BYRADIUS 1 m",
            "GEORADIUS str 1 1 1 m",
            "GEORADIUSBYMEMBER str a 1 m",
        ] {
            s.check(line, WRONG_TYPE);
        }
        s.check("GET str", "\"x\"");
    });
}

/// Scores that no place has. The result depends on the C compiler.
#[test]
fn any_sorted_set_can_be_read_as_positions() {
    let scores = "1 one -1 neg 1e20 big inf inf -inf ninf 4503599627370496 p52 4503599627370495 m52 0.5 half \
                  9007199254740993 p53 1.8446744073709552e19 p64 9223372036854775808 p63 9.3e18 p63b -9.3e18 n63";
    let names: Vec<&str> = scores.split_whitespace().skip(1).step_by(2).collect();
    let mut lines = format!("ZADD z {scores}\nGEOPOS z {0}\nGEOHASH z {0}\n", names.join(" "));
    for pair in names.windows(2) {
        lines += &format!("GEODIST z {} {}\n", pair[0], pair[1]);
        for around in ["BYRADIUS 10000 km", "BYBOX 50000 50000 km"] {
            lines += &format!("GEOSEARCH z FROMMEMBER {} {around} WITHHASH WITHDIST WITHCOORD\n", pair[0]);
        }
    }
    family::compare_lines(Kind::Redis, &lines);
    family::compare_lines(Kind::Valkey, &lines);
}

/// A thousand places on a lattice that has the world's edges, where many are equally far away.
fn lattice() -> String {
    let (mut lines, mut places) = (String::new(), Vec::new());
    for longitude in (-180..=180).step_by(10) {
        for latitude in (-85..=85).step_by(5) {
            places.push(format!("{longitude} {latitude} p{longitude},{latitude}"));
        }
    }
    places.push("180 85.05112878 corner 179.9999 -85.05112878 south 13.3 45.0001 a 13.3001 45 b".to_string());
    for chunk in places.chunks(100) {
        lines += &format!("GEOADD g {}\n", chunk.join(" "));
    }
    lines
}

/// Across the poles and the date line, of no size and larger than the world: the same places, in the same order,
/// sorted or not.
#[test]
fn areas_of_all_sizes_are_searched_alike() {
    let mut lines = lattice();
    let centers =
        ["180 0", "-180 85.05112878", "179.9 -84.9", "0 0", "13.3 45", "-65 66.5", "100 80.5", "5 2.5"];
    let shapes = [
        "BYRADIUS 0 m",
        "BYRADIUS 500 km",
        "BYRADIUS 1200 mi",
        "BYRADIUS 5001 km",
        "BYRADIUS 20015 km",
        "BYRADIUS inf m",
        "BYRADIUS 5e-324 m",
        "BYBOX 0 0 m",
        "BYBOX 0 3000 km",
        "BYBOX 3000 0 km",
        "BYBOX 2000 1000 km",
        "BYBOX 40000 300 km",
        "BYBOX 300 40000 km",
        "BYBOX inf inf ft",
    ];
    for center in centers {
        for shape in shapes {
            let search = format!("GEOSEARCH g FROMLONLAT {center} {shape}");
            for options in ["WITHDIST", "ASC", "DESC WITHHASH", "COUNT 5", "COUNT 30 DESC", "COUNT 7 ANY"] {
                lines += &format!("{search} {options}\n");
            }
        }
    }
    family::compare_lines(Kind::Redis, &lines);
    family::compare_lines(Kind::Valkey, &lines);
}

#[test]
fn distances_are_stored_with_all_their_digits() {
    let mut lines = lattice();
    for center in ["13.3 45", "180 0", "0 -60"] {
        for unit in ["m", "km", "ft", "mi"] {
            lines += &format!("GEOSEARCHSTORE d g FROMLONLAT {center} BYRADIUS 6000000 {unit} STOREDIST\n");
            lines += "ZRANGE d 0 -1 WITHSCORES\n";
        }
    }
    family::compare_lines(Kind::Redis, &lines);
    family::compare_lines(Kind::Valkey, &lines);
}
