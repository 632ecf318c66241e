//! The list of all differences between our answers and a real server's, each with its reason.
//!
//! An answer that is neither in this list nor in [`crate::compare`] (which lists what Redis itself leaves open) must be
//! equal byte for byte. A difference that is claimed to be Redis 7.2's has an example, which a server of the 7.2 line
//! must answer as ours does.

mod doubles;
mod expired;
pub mod newer;
mod rights;
pub mod several_servers;
mod streams;
pub mod table;
pub mod unseen;

use crate::client::Client;
use crate::pair::{Claim, Difference, Exchange};
use crate::redis_server::Kind;
use crate::reply::Reply;
use crate::state::Snapshot;
pub use doubles::same_but_digits;

/// The known differences against a server of this kind.
pub fn against(kind: Kind) -> &'static [Difference] {
    match kind {
        Kind::Redis => REDIS_7_0,
        Kind::Valkey => VALKEY,
    }
}

/// A range of members is defined among equal scores only. With other scores, the result of each server depends on the
/// shape of its own table, which is random in Redis. [`crate::differential::Duel`] accepts the difference only if
/// scores differ.
pub const LEX_AMONG_SCORES: &str = "ranges by member with different scores";

const LEX: Difference = Difference {
    name: LEX_AMONG_SCORES,
    reason: "ranges by member are defined only if all scores are equal",
    claim: Claim::OnPurpose,
    example: &[],
    applies: |exchange| {
        let by_lex = |word: &Vec<u8>| word.to_ascii_uppercase().ends_with(b"BYLEX");
        let is_count = exchange.arguments[0].eq_ignore_ascii_case(b"ZLEXCOUNT");
        let answered = !exchange.real.reply.is_error() && !exchange.ours.reply.is_error();
        answered && (is_count || exchange.arguments.iter().any(by_lex))
    },
};

/// There is no example: a real server's answer has more elements than a test should read.
const MANY_AT_RANDOM: Difference = Difference {
    name: "millions of random elements",
    reason: "with repetition, real servers draw as many elements as requested, until they run out of memory. \
             Lockwheel refuses more than 4,194,304 elements, and more bytes than proto-max-bulk-len",
    claim: Claim::OnPurpose,
    example: &[],
    applies: |exchange| {
        let draws = |name: &[u8]| exchange.arguments[0].eq_ignore_ascii_case(name);
        (draws(b"SRANDMEMBER") || draws(b"HRANDFIELD") || draws(b"ZRANDMEMBER"))
            && is_error(&exchange.ours.reply, "ERR value is out of range")
            && !exchange.real.reply.is_error()
    },
};

/// There is no example: the order of the functions is random.
const ONE_OF_SEVERAL_FUNCTIONS: Difference = Difference {
    name: "errors about several existing functions",
    reason: "if several functions of a library already exist, real servers name the first one in a hash \
             table with random order",
    claim: Claim::OnPurpose,
    example: &[],
    applies: |exchange| {
        let exists = |reply: &Reply| match reply {
            Reply::Error(text) => text.starts_with("ERR Function ") && text.ends_with(" already exists"),
            _ => false,
        };
        exchange.arguments.iter().any(|word| word.eq_ignore_ascii_case(b"FUNCTION"))
            && exists(&exchange.real.reply)
            && exists(&exchange.ours.reply)
    },
};

/// There is no example: the servers differ only after seconds.
const SHARED_IDLE_TIME: Difference = Difference {
    name: "small integers share their idle time",
    reason: "real servers keep one object for all values that are the same small integer, so these values \
             share its access time",
    claim: Claim::OnPurpose,
    example: &[],
    applies: |exchange| {
        // A key that is new in our server has a value in the real one that may not have been accessed for long.
        let [real, ours] = [exchange.real, exchange.ours].map(|answer| answer.reply.as_int());
        exchange.arguments.iter().any(|word| word.eq_ignore_ascii_case(b"IDLETIME"))
            && ours.is_some_and(|ours| ours >= 0 && real > Some(ours))
    },
};

const COPIED_INTEGER: Difference = Difference {
    name: "a copied small integer is shared",
    reason: "in redis-server, only COPY gives a key a small integer of its own; the next INCR or SET shares \
             it again. Lockwheel shares all small integers",
    claim: Claim::OnPurpose,
    example: &["SET k 10", "COPY k copy", "OBJECT REFCOUNT copy"],
    applies: is_shared_by_ours,
};

/// The differences against redis-server 7.0.15.
pub const REDIS_7_0: &[Difference] = &[
    streams::NO_MEMORY_BEFOREHAND,
    streams::CONSUMERS_WITH_NOTHING,
    streams::CONSUMERS_COUNTED,
    streams::CONSUMERS_ACTIVITY,
    streams::XREAD_UNBALANCED,
    streams::XSETID_BELOW_DELETED,
    streams::LAST_SEQUENCE_NUMBER,
    streams::XREAD_IN_SCRIPTS,
    streams::TIMEOUT_BEYOND_THE_CLOCK,
    MANY_AT_RANDOM,
    LEX,
    ONE_OF_SEVERAL_FUNCTIONS,
    SHARED_IDLE_TIME,
    COPIED_INTEGER,
    rights::STORED_KEY,
    Difference {
        name: "small lists are listpacks",
        reason: "Redis 7.2 keeps a small list in one listpack; 7.0 always uses a quicklist",
        claim: Claim::Redis72,
        example: &["RPUSH l a", "OBJECT ENCODING l"],
        applies: |exchange| encodings(exchange) == Some(("quicklist", "listpack")),
    },
    Difference {
        name: "small sets are listpacks",
        reason: "Redis 7.2 keeps a small set of strings in a listpack; 7.0 uses a hash table",
        claim: Claim::Redis72,
        example: &["SADD s a", "OBJECT ENCODING s"],
        applies: |exchange| encodings(exchange) == Some(("hashtable", "listpack")),
    },
    doubles::MINUS_ZERO,
    doubles::SHORTEST_DIGITS,
    Difference {
        name: "scripts may call blocking commands",
        reason: "Redis 7.2 lets scripts call these commands, which do not block there; 7.0 refuses them",
        claim: Claim::Redis72,
        example: &["EVAL \"return redis.call(unpack(ARGV))\" 0 BLPOP l 0"],
        applies: |exchange| {
            may_block(exchange.arguments)
                && is_error(&exchange.real.reply, "ERR This Redis command is not allowed")
        },
    },
    Difference {
        name: "timeouts beyond a float's range",
        reason: "Redis 7.2 reports that the timeout is out of range; 7.0 reports that it is negative",
        claim: Claim::Redis72,
        example: &["BLPOP l inf"],
        applies: |exchange| errors_are(exchange, "ERR timeout is negative", "ERR timeout is out of range"),
    },
    Difference {
        name: "commands of Valkey",
        reason: "Lockwheel has commands for the expiry of hash fields, which Redis 7.2 does not have",
        claim: Claim::OnPurpose,
        example: &["COMMAND LIST FILTERBY ACLCAT hash"],
        applies: |exchange| {
            words(exchange, 0..2) == ["COMMAND", "LIST"]
                && matches!((&exchange.real.reply, &exchange.ours.reply), (Reply::Array(_), Reply::Array(_)))
        },
    },
    Difference {
        name: "SET with IFEQ",
        reason: "Valkey 8.1 added IFEQ",
        claim: Claim::Redis72,
        example: &["SET s v", "SET s w IFEQ v"],
        applies: |exchange| {
            let words = &exchange.arguments;
            words[0].eq_ignore_ascii_case(b"SET")
                && words.iter().skip(3).any(|word| word.eq_ignore_ascii_case(b"IFEQ"))
                && is_error(&exchange.real.reply, "ERR syntax error")
        },
    },
    Difference {
        name: "ranks with scores",
        reason: "Redis 7.2 added WITHSCORE",
        claim: Claim::Redis72,
        example: &["ZRANK z m WITHSCORE"],
        applies: |exchange| {
            let word = &exchange.arguments[0];
            let is_rank = word.eq_ignore_ascii_case(b"ZRANK") || word.eq_ignore_ascii_case(b"ZREVRANK");
            is_rank && exchange.arguments.len() > 3 && is_about_arity(&exchange.real.reply)
        },
    },
    Difference {
        name: "keys of a command without arguments",
        reason: "since Redis 7.2, COMMAND GETKEYS accepts a command without arguments",
        claim: Claim::Redis72,
        example: &["COMMAND GETKEYS ping"],
        applies: |exchange| {
            let is_command = exchange.arguments[0].eq_ignore_ascii_case(b"COMMAND");
            is_command && exchange.arguments.len() == 3 && is_about_arity(&exchange.real.reply)
        },
    },
    Difference {
        name: "client library names and CLIENT NO-TOUCH",
        reason: "Redis 7.2 added CLIENT SETINFO and CLIENT NO-TOUCH",
        claim: Claim::Redis72,
        example: &["CLIENT NO-TOUCH ON"],
        applies: |exchange| {
            exchange.arguments[0].eq_ignore_ascii_case(b"CLIENT")
                && is_error(&exchange.real.reply, "ERR unknown subcommand")
        },
    },
    Difference {
        name: "the smallest integer as a count",
        reason: "Redis 7.2 refuses this count, because its negation does not fit in 64 bits",
        claim: Claim::Redis72,
        example: &["RPUSH l a", "LREM l -9223372036854775808 a"],
        applies: |exchange| {
            exchange.arguments.iter().any(|word| word == b"-9223372036854775808")
                && is_error(&exchange.ours.reply, "ERR value is out of range, value must between")
        },
    },
    Difference {
        name: "ranges of bits are checked before the key",
        reason: "Redis 7.2 refuses an invalid range or bit, whatever the key holds",
        claim: Claim::Redis72,
        example: &["BITCOUNT none x y"],
        applies: |exchange| {
            let is = |name: &[u8]| exchange.arguments[0].eq_ignore_ascii_case(name);
            (is(b"BITCOUNT") || is(b"BITPOS")) && exchange.ours.reply.is_error()
        },
    },
    Difference {
        name: "references within transactions",
        reason: "in Redis, the queued command also references the string that it has stored, until EXEC ends",
        claim: Claim::OnPurpose,
        example: &["MULTI", "SET k v", "OBJECT REFCOUNT k", "EXEC"],
        applies: |exchange| {
            words(exchange, 0..2) == ["OBJECT", "REFCOUNT"]
                && exchange.real.reply.as_int() == Some(2)
                && exchange.ours.reply.as_int() == Some(1)
        },
    },
    expired::COUNTED,
    expired::MEASURED,
    expired::SCANNED,
];

/// Reorders the frames of a client that publishes to itself into the order of Redis 7.2: the answer first, then the
/// message. In RESP3, where a subscriber may publish, 7.0 writes the message before the answer or in the middle of
/// EXEC's. (The comparison with Valkey, where nothing is moved, shows whether 7.2 does.)
pub fn own_messages_last(kind: Kind, frames: &mut [Reply]) {
    if kind == Kind::Redis {
        frames.sort_by_key(is_message);
    }
}

fn is_message(frame: &Reply) -> bool {
    let Reply::Push(items) = frame else { return false };
    matches!(items.first().and_then(Reply::as_bytes), Some(b"message" | b"pmessage" | b"smessage"))
}

/// Whether a command may wait for other clients.
pub fn may_block(arguments: &[Vec<u8>]) -> bool {
    let name = arguments.first().map_or(Vec::new(), |name| name.to_ascii_uppercase());
    matches!(
        name.as_slice(),
        b"BLPOP" | b"BRPOP" | b"BLMOVE" | b"BLMPOP" | b"BRPOPLPUSH" | b"BZPOPMIN" | b"BZPOPMAX" | b"BZMPOP"
    )
}

fn is_about_arity(reply: &Reply) -> bool {
    is_error(reply, "ERR wrong number of arguments") || is_error(reply, "ERR Wrong number of args")
}

/// Whether a real server's error begins with one text, and ours with another.
fn errors_are(exchange: &Exchange<'_>, real: &str, ours: &str) -> bool {
    is_error(&exchange.real.reply, real) && is_error(&exchange.ours.reply, ours)
}

fn is_error(reply: &Reply, beginning: &str) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with(beginning))
}

/// An integer that has one reference in the real server, and is shared in ours.
fn is_shared_by_ours(exchange: &Exchange<'_>) -> bool {
    let counts = exchange.arguments.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"REFCOUNT"));
    counts && exchange.real.reply.as_int() == Some(1) && exchange.ours.reply.as_int() == Some(i32::MAX.into())
}

/// The differences against valkey-server 9, which grew out of Redis 7.2.
pub const VALKEY: &[Difference] = &[
    streams::NO_MEMORY_BEFOREHAND,
    streams::XREAD_OF_THE_LAST,
    streams::GROUPS_AHEAD,
    LEX,
    MANY_AT_RANDOM,
    ONE_OF_SEVERAL_FUNCTIONS,
    SHARED_IDLE_TIME,
    Difference {
        name: "offsets below zero",
        reason: "Valkey 9 counts them from behind in a large sorted set, and finds nothing in a small one; Redis finds \
                 nothing",
        claim: Claim::Newer,
        example: &[
            "ZADD z 1 a 2 long.member:123456789.123456789.123456789.123456789.123456789.123456789",
            "ZRANGEBYSCORE z -inf +inf LIMIT -1 -1",
        ],
        applies: |exchange| {
            let is_below =
                |pair: &[Vec<u8>]| pair[0].eq_ignore_ascii_case(b"LIMIT") && pair[1].starts_with(b"-");
            exchange.arguments.windows(2).any(is_below)
                && exchange.ours.reply.to_string() == "[]"
                && !exchange.real.reply.is_error()
        },
    },
    Difference {
        name: "more strings are embedded",
        reason: "Valkey embeds strings of more than 44 bytes, and integers that some commands set, in their key's \
                 entry",
        claim: Claim::Newer,
        example: &["SET k 123456789.123456789.123456789.123456789.12345", "OBJECT ENCODING k"],
        applies: |exchange| matches!(encodings(exchange), Some(("embstr", "raw" | "int"))),
    },
    Difference {
        name: "small integers are not shared",
        reason: "Valkey keeps a small integer in its key's entry, where it belongs to that key alone",
        claim: Claim::Newer,
        example: &["SET k 10", "OBJECT REFCOUNT k"],
        applies: is_shared_by_ours,
    },
    Difference {
        name: "long members that are refused",
        reason: "Valkey 9 makes a sorted set a large one for a long member, also when XX or GT refuses it; Redis 7 \
                 when it is added",
        claim: Claim::Newer,
        example: &[
            "ZADD z 1 a",
            "ZADD z XX 1 long.member:123456789.123456789.123456789.123456789.123456789.123456789",
            "OBJECT ENCODING z",
        ],
        applies: |exchange| encodings(exchange) == Some(("skiplist", "listpack")),
    },
    Difference {
        name: "there is no file of users",
        reason: "Valkey leaves Redis' name out of what it says",
        claim: Claim::Newer,
        example: &["ACL SAVE"],
        applies: |exchange| {
            errors_are(
                exchange,
                "ERR This instance is not configured to use an ACL file",
                "ERR This Redis instance is not configured to use an ACL file",
            )
        },
    },
    Difference {
        name: "scripts' errors are worded otherwise",
        reason: "Valkey names itself where Redis names Redis, and leaves the digest out",
        claim: Claim::Newer,
        example: &["EVAL \"return redis.call('GET')\" 0"],
        applies: |exchange| {
            let text =
                |reply: &Reply| reply.as_bytes().map(|text| String::from_utf8_lossy(text).into_owned());
            match (text(&exchange.real.reply), text(&exchange.ours.reply)) {
                (Some(real), Some(ours)) => in_redis_words(&real) == without_digest(&ours),
                _ => false,
            }
        },
    },
    Difference {
        name: "names of functions are refused otherwise",
        reason: "Valkey calls them names of functions and not of libraries, and does not say that it was registering",
        claim: Claim::Newer,
        example: &["FUNCTION LOAD \"#!lua name=l\\nredis.register_function('x y', function() end)\""],
        applies: |exchange| is_error(&exchange.real.reply, "ERR Function names can only contain"),
    },
    Difference {
        name: "unknown engines of scripts",
        reason: "Valkey 9 has a text of its own for a shebang that names none of its engines",
        claim: Claim::Newer,
        example: &["EVAL \"#!python\\nreturn 1\" 0"],
        applies: |exchange| is_error(&exchange.real.reply, "ERR Could not find scripting engine"),
    },
    Difference {
        name: "odd cursors",
        reason: "Redis 7 reads cursors as C does: -1 is the largest, nothing is 0, a space is an error; \
                 Valkey 9 has its own rules",
        claim: Claim::Newer,
        example: &["SCAN -1"],
        applies: |exchange| {
            let refused = |reply| is_error(reply, "ERR invalid cursor");
            refused(&exchange.real.reply) || refused(&exchange.ours.reply)
        },
    },
    Difference {
        name: "floats have no spaces and no hexadecimal digits",
        reason: "Valkey 9 reads floats more strictly than Redis 7",
        claim: Claim::Newer,
        example: &["ZADD z 0x10 m"],
        applies: |exchange| {
            let odd = |word: &Vec<u8>| {
                let word = word.strip_prefix(b"(").unwrap_or(word);
                word.starts_with(b" ") || word.starts_with(b"0x") || word.is_empty()
            };
            let refusals = [
                "ERR value is not a valid float",
                "ERR min or max is not a float",
                "ERR weight value is not a float",
                "ERR need numeric",
            ];
            let refused = refusals.iter().any(|text| is_error(&exchange.real.reply, text));
            refused && exchange.arguments.iter().any(odd)
        },
    },
    Difference {
        name: "places that do not exist",
        reason: "Valkey names the member; Redis says that it could not decode it",
        claim: Claim::Newer,
        example: &["GEOADD g 1 1 a", "GEOSEARCH g FROMMEMBER b BYRADIUS 1 m"],
        applies: |exchange| errors_are(exchange, "ERR member ", "ERR could not decode requested zset member"),
    },
    Difference {
        name: "polygons",
        reason: "Valkey 9 also searches polygons, and says so where a shape is missing",
        claim: Claim::Newer,
        example: &["GEOSEARCH g FROMLONLAT 1 1 ASC ASC ASC"],
        applies: |exchange| {
            is_error(&exchange.real.reply, "ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON")
        },
    },
    Difference {
        name: "GETEX reads its options first",
        reason: "Valkey 9 refuses an impossible time even when the key does not exist",
        claim: Claim::Newer,
        example: &["GETEX k EX -1"],
        applies: |exchange| {
            let is_getex = exchange.arguments[0].eq_ignore_ascii_case(b"GETEX");
            is_getex && exchange.real.reply.is_error()
        },
    },
    Difference {
        name: "bits are counted from a start",
        reason: "Valkey 9 takes a range without an end, and so reads what the range counts before its end",
        claim: Claim::Newer,
        example: &["BITCOUNT k 0"],
        applies: |exchange| {
            let is_count = exchange.arguments[0].eq_ignore_ascii_case(b"BITCOUNT");
            let two_errors = exchange.real.reply.is_error() && exchange.ours.reply.is_error();
            is_count && (exchange.arguments.len() == 3 || two_errors)
        },
    },
    Difference {
        name: "unknown types",
        reason: "SCAN in Redis 7 finds nothing of a type that does not exist; Valkey 9 refuses it",
        claim: Claim::Newer,
        example: &["SCAN 0 TYPE none"],
        applies: |exchange| is_error(&exchange.real.reply, "ERR unknown type name"),
    },
    Difference {
        name: "the greeting",
        reason: "Valkey greets with its own name, version and modules",
        claim: Claim::Newer,
        example: &["HELLO"],
        applies: |exchange| {
            exchange.arguments[0].eq_ignore_ascii_case(b"HELLO")
                && !exchange.real.reply.is_error()
                && !exchange.ours.reply.is_error()
        },
    },
    Difference {
        name: "client ids that are none",
        reason: "Valkey 9 refuses them in CLIENT LIST too, and calls some a syntax error",
        claim: Claim::Newer,
        example: &["CLIENT KILL ID x"],
        applies: |exchange| {
            let is_client = exchange.arguments[0].eq_ignore_ascii_case(b"CLIENT");
            let refused = |text| is_error(&exchange.real.reply, text);
            is_client && (refused("ERR syntax error") || refused("ERR client-id should be greater than 0"))
        },
    },
    Difference {
        name: "a key called FIELDS",
        reason: "Valkey 9 looks for the word FIELDS from the key on, and so refuses a hash of this name",
        claim: Claim::OnPurpose,
        example: &["HSET fields a 1", "HGETEX fields FIELDS 1 a"],
        applies: |exchange| {
            let is_of = |pair: &[Vec<u8>]| {
                let name = pair[0].to_ascii_uppercase();
                (name == b"HGETEX" || name == b"HSETEX") && pair[1].eq_ignore_ascii_case(b"FIELDS")
            };
            exchange.arguments.windows(2).any(is_of) && exchange.real.reply.is_error()
        },
    },
    Difference {
        name: "more commands",
        reason: "Valkey 9 has commands that Redis 7.2 has not",
        claim: Claim::Newer,
        example: &["COMMAND LIST FILTERBY ACLCAT scripting"],
        applies: |exchange| {
            let [name, sub, ..] = exchange.arguments else { return false };
            let is_list = name.eq_ignore_ascii_case(b"COMMAND") && sub.eq_ignore_ascii_case(b"LIST");
            is_list
                && matches!((&exchange.real.reply, &exchange.ours.reply), (Reply::Array(_), Reply::Array(_)))
        },
    },
    Difference {
        name: "nested transactions",
        reason: "Valkey 9 has one text for all commands that a transaction refuses; Redis 7 has one each",
        claim: Claim::Newer,
        example: &["MULTI", "MULTI"],
        applies: |exchange| {
            matches!(&exchange.real.reply, Reply::Error(text) if text.ends_with("not allowed inside a transaction"))
                && exchange.ours.reply.is_error()
        },
    },
    Difference {
        name: "indices of 64 bits",
        reason: "Valkey cuts the index of LSET to 32 bits on small lists; ours is out of range, as in Redis 7.0",
        claim: Claim::OnPurpose,
        example: &["RPUSH l a", "LSET l -9223372036854775808 b"],
        applies: |exchange| {
            exchange.arguments[0].eq_ignore_ascii_case(b"LSET")
                && is_error(&exchange.ours.reply, "ERR index out of range")
        },
    },
];

/// Returns an error of Valkey in the wording of Redis.
fn in_redis_words(text: &str) -> String {
    text.replace("Valkey command", "Redis command")
        .replace("Unknown command", "Unknown Redis command")
        .replace("ERR Command arguments must", "ERR Lua redis lib command arguments must")
        .replace("args calling command", "args calling Redis command")
        .replace("argument for this call", "argument for this redis lib call")
        .replace("No matching script.", "No matching script. Please use EVAL.")
}

/// Returns an error from a script without the script's SHA-1.
fn without_digest(text: &str) -> String {
    match text.split_once(" script: ") {
        Some((before, after)) => {
            format!("{before} script: {}", after.split_once(", ").map_or(after, |(_, place)| place))
        }
        None => text.to_string(),
    }
}

/// Copies our value into the real state if the list declares a difference of encodings, or of the digits that a script
/// gave to a double.
pub fn declare_states(kind: Kind, real: &mut Snapshot, ours: &Snapshot) {
    for (name, state) in &mut real.keys {
        let Some(our_state) = ours.keys.get(name) else { continue };
        let encodings = (state.encoding.as_str(), our_state.encoding.as_str());
        let declared = match (kind, state.kind.as_str()) {
            (Kind::Redis, "list") => encodings == ("quicklist", "listpack"),
            (Kind::Redis, "set") => encodings == ("hashtable", "listpack"),
            (Kind::Valkey, "string") => matches!(encodings, ("embstr", "raw" | "int")),
            (Kind::Valkey, "zset") => encodings == ("skiplist", "listpack"),
            _ => false,
        };
        if declared {
            state.encoding.clone_from(&our_state.encoding);
        }
        if kind == Kind::Redis
            && state.content != our_state.content
            && same_but_digits(&state.content, &our_state.content)
        {
            state.content.clone_from(&our_state.content);
        }
    }
}

/// Tells a real server to delete expired keys only on access. The time of an active deletion is random.
pub fn keep_expired(client: &mut Client) {
    assert_eq!(client.line("DEBUG SET-ACTIVE-EXPIRE 0").to_string(), "+OK");
}

/// Returns these words of the command, in upper case.
fn words(exchange: &Exchange<'_>, range: std::ops::Range<usize>) -> Vec<String> {
    let words = exchange.arguments.get(range).unwrap_or_default();
    words.iter().map(|word| String::from_utf8_lossy(word).to_uppercase()).collect()
}

/// The two encodings that OBJECT ENCODING answered.
fn encodings<'a>(exchange: &'a Exchange<'_>) -> Option<(&'a str, &'a str)> {
    let [name, sub, ..] = exchange.arguments else { return None };
    if !name.eq_ignore_ascii_case(b"OBJECT") || !sub.eq_ignore_ascii_case(b"ENCODING") {
        return None;
    }
    let text = |reply: &'a Reply| std::str::from_utf8(reply.as_bytes()?).ok();
    Some((text(&exchange.real.reply)?, text(&exchange.ours.reply)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Protocol, split};
    use crate::pair::{Pair, Verdict};
    use crate::redis_server::RealServer;
    use crate::{check::Endpoint, ours};

    /// Returns the verdict on the last line, on empty servers.
    fn shown(kind: Kind, example: &[&str]) -> Option<Verdict> {
        let (real, ours) = (RealServer::start(kind, &[])?, ours::server());
        let connect = |addr| Client::connect_with(addr, Protocol::Resp2);
        let mut pair = Pair::new(connect(real.addr()), connect(Endpoint::addr(&ours)), against(kind));
        keep_expired(pair.clients().0);
        example.iter().map(|line| pair.run(&split(line))).last()
    }

    #[test]
    fn every_declared_difference_of_7_2_exists() {
        for difference in REDIS_7_0.iter().filter(|difference| difference.claim == Claim::Redis72) {
            let name = difference.name;
            if let Some(verdict) = shown(Kind::Redis, difference.example) {
                assert_eq!(verdict, Verdict::Declared(name));
            }
            if let Some(verdict) = shown(Kind::Valkey, difference.example) {
                assert_eq!(verdict, Verdict::Equal, "{name}");
            }
        }
    }

    #[test]
    fn every_other_declared_difference_exists() {
        let of = |kind| against(kind).iter().map(move |difference| (kind, difference));
        for (kind, difference) in of(Kind::Redis).chain(of(Kind::Valkey)) {
            if difference.claim != Claim::Redis72
                && !difference.example.is_empty()
                && let Some(verdict) = shown(kind, difference.example)
            {
                assert_eq!(verdict, Verdict::Declared(difference.name));
            }
        }
    }
}
