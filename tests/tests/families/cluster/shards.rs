//! Channels of shards belong to slots.

use crate::cluster::nodes::Both;
use lockwheel_tests::client::Protocol;

#[test]
fn shard_channels_belong_to_their_slot_and_end_when_it_moves() {
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let Some(mut both) = Both::start(protocol) else { return };
        let ids = both.ids.clone();
        for line in [
            "SPUBLISH {bar}c m",
            "SPUBLISH foo m",
            "SSUBSCRIBE foo",
            "SSUBSCRIBE {bar}a foo",
            "SUNSUBSCRIBE foo",
        ] {
            both.same(0, line);
        }
        let mut listening = both.connect(0);
        let mut told = |line: Option<&str>, count: usize| {
            let heard = listening.each_mut().map(|client| {
                if let Some(line) = line {
                    client.send_line(line);
                }
                (0..count).map(|_| format!("{:?}", client.read_frame())).collect::<Vec<_>>()
            });
            assert_eq!(heard[0], heard[1]);
        };
        told(Some("SSUBSCRIBE {bar}a {bar}b"), 2);
        both.same(0, "SPUBLISH {bar}a m");
        told(None, 1);
        both.same(0, "PUBSUB SHARDNUMSUB {bar}a {bar}b foo");
        both.same(1, "CLUSTER SETSLOT 5061 NODE @".replace('@', &ids[1]).as_str());
        both.same(0, "CLUSTER SETSLOT 5061 NODE @".replace('@', &ids[1]).as_str());
        told(None, 2);
        both.same(0, "PUBSUB SHARDNUMSUB {bar}a {bar}b foo");
        both.same(0, "SPUBLISH {bar}a m");
        told(Some("PING"), 1);
    }
}
