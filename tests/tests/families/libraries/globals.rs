//! All names that a script can reach, compared with redis-server's.

use lockwheel_tests::client::Client;
use lockwheel_tests::ours::server;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::Reply;
use std::collections::BTreeSet;

/// Returns all names that begin at the globals, with the type of each, and the value of numbers and texts.
const WALK: &str = "local seen, out = {}, {}
    local function walk(path, t)
        seen[t] = path
        for k, v in pairs(t) do
            local kind = type(v)
            local value = (kind == 'number' or kind == 'string') and ' ' .. tostring(v) or ''
            out[#out + 1] = path .. '.' .. tostring(k) .. ': ' .. kind .. value
            if kind == 'table' and not seen[v] then walk(path .. '.' .. tostring(k), v) end
        end
        if getmetatable(t) then out[#out + 1] = path .. ' has a metatable' walk(path .. '()', getmetatable(t)) end
    end
    walk('_G', _G)
    walk('text', getmetatable(''))
    for _, v in pairs({true, 1, pairs, cjson.null, coroutine.create(function() end)}) do
        out[#out + 1] = type(v) .. ' has ' .. tostring(getmetatable(v))
    end
    return out";

/// The differences from 7.0.15, as 7.2 has them.
const NEWER: &[&str] = &["_G.os: table", "_G.os.clock: function"];

fn names(client: &mut Client) -> BTreeSet<String> {
    let Reply::Array(items) = client.cmd(&["EVAL", WALK, "0"]) else { panic!("a list of names") };
    items
        .iter()
        .map(|item| String::from_utf8_lossy(item.as_bytes().unwrap_or_default()).into_owned())
        .collect()
}

#[test]
fn scripts_have_the_globals_of_redis() {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let ours = server();
    let [real, mut ours] = [real.addr(), ours.addr()].map(|address| names(&mut Client::connect(address)));
    for name in NEWER {
        assert!(ours.remove(*name), "{name}");
    }
    let version = |name: &&String| !name.contains("REDIS_VERSION");
    let [only_real, only_ours]: [Vec<_>; 2] =
        [real.difference(&ours).filter(version).collect(), ours.difference(&real).filter(version).collect()];
    assert!(only_real.is_empty() && only_ours.is_empty(), "redis {only_real:?}\nours {only_ours:?}");
    assert!(real.len() > 150);
}
