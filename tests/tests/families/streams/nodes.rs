//! The storage of entries: the sizes of nodes, which trimming and XINFO show, and memory.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::{Client, Protocol};
use lockwheel_tests::differences;
use lockwheel_tests::ours;
use lockwheel_tests::pair::{Pair, Verdict};
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::rng::Rng;

/// Texts of all lengths and integers of all sizes at which a listpack's encoding changes.
fn text(rng: &mut Rng) -> String {
    const INTEGERS: &[i64] = &[
        0,
        127,
        128,
        -1,
        4095,
        4096,
        -4097,
        32_767,
        32_768,
        8_388_607,
        8_388_608,
        -8_388_609,
        2_147_483_647,
        2_147_483_648,
        i64::MAX,
        i64::MIN,
    ];
    const LENGTHS: &[usize] = &[0, 1, 5, 62, 63, 64, 125, 126, 127, 128, 4094, 4095, 4096, 16_380, 20_000];
    match rng.below(10) {
        0..=3 => (*rng.pick(&["a", "b", "field", "01", "-0", "1 "])).to_owned(),
        4..=7 => rng.pick(INTEGERS).to_string(),
        8 => "x".repeat(LENGTHS[rng.below(9)]),
        _ => "x".repeat(*rng.pick(LENGTHS)),
    }
}

/// A random request about the stream `x`. Its last entry may have the id of `at`, which rises.
fn request(rng: &mut Rng, fields: &[String], at: &mut (u64, u64)) -> Vec<String> {
    let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    match rng.below(20) {
        0..=14 => {
            *at = match rng.below(3) {
                0 => (at.0, at.1 + *rng.pick(&[1, 1, 100, 1 << 20])),
                _ => (at.0 + *rng.pick(&[1, 5, 200, 70_000, 1 << 33]), *rng.pick(&[0, 0, 5])),
            };
            let option = match rng.below(8) {
                0 => format!(" MAXLEN ~ {}", rng.below(100)),
                1 => format!(" MAXLEN ~ {} LIMIT {}", rng.below(20), rng.below(50)),
                2 => format!(" MINID ~ {}", at.0.saturating_sub(500)),
                _ => String::new(),
            };
            let mut request = words(format!("XADD x{option} {}-{}", at.0, at.1));
            let own = [text(rng)];
            let fields = if rng.chance(80) { fields } else { &own };
            fields.iter().for_each(|field| request.extend([field.clone(), text(rng)]));
            request
        }
        15 | 16 => words(format!("XDEL x {}-{} {}-0", at.0, at.1, at.0.saturating_sub(1))),
        17 => words(format!("XTRIM x MAXLEN {}", rng.below(200))),
        18 => words(format!("XTRIM x MAXLEN ~ {}", rng.below(200))),
        _ => words(format!("XTRIM x MINID {}", at.0.saturating_sub(rng.below(300) as u64))),
    }
}

/// Whole nodes are trimmed, and the reply counts the entries: nodes must be full when Redis' are.
#[test]
fn nodes_hold_as_many_entries_as_on_the_real_server() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let ours = ours::server();
    let connect = |address| Client::connect_with(address, Protocol::Resp2);
    let mut pair =
        Pair::new(connect(real.addr()), connect(Endpoint::addr(&ours)), differences::against(Kind::Redis));
    let mut rng = Rng::new(7);
    let limits = [(4096, 100), (0, 0), (100, 0), (0, 1), (200, 2), (1000, 150), (20_000, 300), (1, 1)];
    for (bytes, entries) in limits {
        pair.check("FLUSHALL");
        pair.check(&format!("CONFIG SET stream-node-max-bytes {bytes} stream-node-max-entries {entries}"));
        let fields: Vec<String> = (0..=rng.below(3)).map(|_| text(&mut rng)).collect();
        let mut at = (*rng.pick(&[1, 1 << 40, 1_700_000_000_000, 1 << 63]), 0);
        for _ in 0..250 {
            let request = request(&mut rng, &fields, &mut at);
            let request: Vec<Vec<u8>> = request.into_iter().map(String::into_bytes).collect();
            assert_eq!(pair.run(&request), Verdict::Equal);
            pair.check("XINFO STREAM x");
        }
        pair.check("XRANGE x - +");
        pair.check("XREVRANGE x + - COUNT 7");
    }
}

#[test]
fn the_limits_of_nodes_are_parameters() {
    let mut s = ours::scenario();
    s.check3(
        "CONFIG GET stream-node-max-*",
        r#"["stream-node-max-bytes", "4096", "stream-node-max-entries", "100"]"#,
        r#"{"stream-node-max-bytes": "4096", "stream-node-max-entries": "100"}"#,
    );
    s.check("CONFIG SET stream-node-max-entries 2", "+OK");
    for id in 1..=5 {
        s.run(&format!("XADD x {id}-1 f v"));
    }
    // Three nodes, of which the first may be trimmed.
    s.check("XTRIM x MAXLEN ~ 3", ":2").check("XTRIM x MAXLEN ~ 2", ":0").check("XLEN x", ":3");
    s.check("XTRIM x MAXLEN ~ 1 LIMIT 1", ":0").check("XTRIM x MAXLEN ~ 1 LIMIT 2", ":2");
}
