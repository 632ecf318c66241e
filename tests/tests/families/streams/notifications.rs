//! Notifications of streams: keyspace events, broken transactions.

use lockwheel_tests::family::{expect_events, listen, same_everywhere, same_on};
use lockwheel_tests::redis_server::Kind;

#[test]
fn events_have_the_order_of_redis() {
    let lines = "XADD x 1-1 f v|XADD x NOMKSTREAM MAXLEN 1 1-2 f v|XADD x MAXLEN ~ 1 1-3 f v|XTRIM x MAXLEN 5|\
                 XTRIM x MAXLEN 1|XDEL x 9-9|XDEL x 1-3|XADD x 2-1 f v|XADD x 2-2 f v|XSETID x 3-1|\
                 XGROUP CREATE x g 0|XGROUP CREATE y g 0 MKSTREAM|XGROUP SETID x g 0|XGROUP CREATECONSUMER x g a|\
                 XGROUP CREATECONSUMER x g a|XGROUP DELCONSUMER x g a|XGROUP DELCONSUMER x g a|\
                 XREADGROUP GROUP g c COUNT 1 STREAMS x >|XREADGROUP GROUP g c STREAMS x >|\
                 XREADGROUP GROUP g d STREAMS x 0|XACK x g 2-1|XCLAIM x g e 0 2-2|XCLAIM x g e 0 2-2|\
                 XAUTOCLAIM x g f 0 0|XGROUP DESTROY x g|XGROUP DESTROY x g|DEL x";
    same_everywhere(|scenario| {
        listen(scenario);
        for line in lines.split('|') {
            scenario.run(line);
        }
        let told = "xadd x, xadd x, xtrim x, xadd x, xtrim x, xdel x, xadd x, xadd x, xsetid x, xgroup-create x, \
                    xgroup-create y, xgroup-setid x, xgroup-createconsumer x, xgroup-delconsumer x, \
                    xgroup-createconsumer x, xgroup-createconsumer x, xgroup-createconsumer x, \
                    xgroup-createconsumer x, xgroup-destroy x, del x";
        expect_events(scenario, told);
    });
}

#[test]
fn only_changes_of_entries_abort_a_watching_transaction() {
    let changes = [
        ("XADD x 2-1 f v", true),
        ("XADD x 1-1 f v", false),
        ("XDEL x 1-1", true),
        ("XDEL x 1-1", false),
        ("XTRIM x MAXLEN 0", true),
        ("XTRIM x MAXLEN 0", false),
        ("XSETID x 9-9", false),
        ("XGROUP CREATE x h 0", false),
        ("XGROUP CREATE y h 0 MKSTREAM", true),
        ("XGROUP CREATECONSUMER x g c", false),
        ("XREADGROUP GROUP g c STREAMS x >", false),
        ("XREADGROUP GROUP g d STREAMS x 0", false),
        ("XACK x g 1-1", false),
        ("XCLAIM x g e 0 1-1 FORCE", false),
        ("XAUTOCLAIM x g e 0 0", false),
        ("XGROUP SETID x g 0", false),
        ("XGROUP DELCONSUMER x g c", false),
        ("XGROUP DESTROY x g", false),
    ];
    same_on(&[Kind::Redis], |s| {
        s.run("XADD x 1-1 f v");
        s.run("XGROUP CREATE x g 0");
        for (line, breaks) in changes {
            s.on("w").check("WATCH x y", "+OK");
            s.run(line);
            s.on("w").check("MULTI", "+OK").check("PING", "+QUEUED");
            s.on("w").check("EXEC", if breaks { "(nil)" } else { "[+PONG]" });
        }
    });
}

#[test]
fn keymiss_events_occur_where_the_real_server_has_them() {
    // The class `A` does not include the event of a missing key.
    let lines = "XREAD STREAMS x y 0 0|XREADGROUP GROUP g c STREAMS x >|XLEN x|XRANGE x - +|XDEL x 1-1|\
                 XTRIM x MAXLEN 1|XINFO STREAM x|XPENDING x g|XACK x g 1-1|XCLAIM x g c 0 1-1|\
                 XAUTOCLAIM x g c 0 0|XSETID x 1-1|XGROUP DESTROY x g|XADD x NOMKSTREAM 1-1 f v";
    same_everywhere(|s| {
        s.run("CONFIG SET notify-keyspace-events Em");
        listen(s);
        for line in lines.split('|') {
            s.run(line);
        }
        s.run("XLEN end");
        let told = "keymiss x, keymiss y, keymiss x, keymiss y, keymiss x, keymiss x, keymiss x, keymiss x, keymiss x, \
                    keymiss x, keymiss x, keymiss x, keymiss end";
        expect_events(s, told);
    });
}
