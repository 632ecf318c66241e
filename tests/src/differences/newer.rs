//! Behaviour of Redis 7.2 that 7.0 lacks and no exchange of one client shows: each with its reason, and with the test
//! that covers it. Such a test asks only the server of the 7.2 line, through [`as_in_7_2`].

use super::unseen::UnseenDifference;
use crate::pair::Claim;
use crate::redis_server::Kind;

/// The known differences of this kind.
pub const AS_IN_7_2: &[UnseenDifference] = &[
    UnseenDifference {
        name: "keys are checked in the order of the command",
        reason: "after a transaction that has filled several keys, BLPOP and similar commands are served \
                 from the first key that they name. 7.0 serves them from the key that was filled first",
        held_by: ("tests/tests/families/lists.rs", "keys_are_checked_in_the_order_of_the_command"),
    },
    UnseenDifference {
        name: "a blocked XREAD gets entries of all its streams",
        reason: "after a transaction that has added to several streams, the reply contains each of them. In \
                 7.0 it contains only the stream that was added to first",
        held_by: (
            "tests/tests/families/streams/waiting.rs",
            "a_blocked_xread_gets_entries_of_all_its_streams",
        ),
    },
    UnseenDifference {
        name: "blocked readers of a removed group get a specific error",
        reason: "if the stream or the group is removed, a blocked XREADGROUP gets NOGROUP or WRONGTYPE, as \
                 if it were sent again. 7.0 replies UNBLOCKED, or NOGROUP with a different text",
        held_by: (
            "tests/tests/families/streams/waiting.rs",
            "blocked_readers_get_an_error_when_their_group_is_removed",
        ),
    },
    UnseenDifference {
        name: "a client's own messages come after the reply",
        reason: "a RESP3 subscriber that publishes to itself first gets the reply to PUBLISH or EXEC. 7.0 \
                 writes the message before the reply, or in the middle of EXEC's reply",
        held_by: ("tests/tests/families/server.rs", "a_publisher_gets_the_reply_before_its_own_message"),
    },
    UnseenDifference {
        name: "scripts have `os.clock`",
        reason: "7.0 has no table `os`",
        held_by: ("tests/tests/families/libraries/globals.rs", "scripts_have_the_globals_of_redis"),
    },
    UnseenDifference {
        name: "TIME does not advance within a script",
        reason: "a script sees one instant from its start to its end. In 7.0, TIME returns the system's \
                 time. In a slow script, TIME does advance in Lockwheel, so that loops that wait for it end",
        held_by: (
            "tests/tests/families/slow_scripts.rs",
            "the_time_does_not_advance_in_a_script_that_is_not_slow",
        ),
    },
    UnseenDifference {
        name: "HELLO without a login names `HELLO <proto> AUTH`",
        reason: "since 7.2, the NOAUTH error of HELLO contains `<proto>`",
        held_by: ("tests/tests/families/server.rs", "hello_without_a_login_explains_authentication"),
    },
    UnseenDifference {
        name: "a SHUTDOWN that waits for replicas cannot be unblocked",
        reason: "CLIENT UNBLOCK replies 0. In 7.0, CLIENT UNBLOCK ends the wait",
        held_by: (
            "tests/tests/families/replication/shutdown.rs",
            "shutdown_continues_after_its_client_has_gone",
        ),
    },
    UnseenDifference {
        name: "INFO has the fields of 7.2",
        reason: "INFO also has Valkey's counts of expired fields and of disconnected clients, which 7.2 does \
                 not have",
        held_by: (
            "tests/tests/families/info.rs",
            "newer_fields_of_info_have_the_position_of_the_newer_server",
        ),
    },
    UnseenDifference {
        name: "the log has a line for each kind of listener",
        reason: "`Ready to accept connections` is followed by `tcp`, `unix` or `tls`",
        held_by: ("tests/tests/clients/stand_in/testcontainers.rs", "with_tls_there_are_two_lines"),
    },
    UnseenDifference {
        name: "HELP says `Print this help`",
        reason: "7.0 says `Prints`",
        held_by: ("tests/tests/house/table/help.rs", "help_describes_itself_as_in_7_2"),
    },
];

/// The servers to ask in a test of such a difference.
///
/// # Panics
/// Panics if the difference is neither in [`AS_IN_7_2`] nor one of [`super::REDIS_7_0`] that claims to be 7.2's: then
/// `docs/commands.md` does not list it.
#[track_caller]
pub fn as_in_7_2(name: &str) -> &'static [Kind] {
    let of_replies = super::REDIS_7_0.iter().filter(|one| one.claim == Claim::Redis72).map(|one| one.name);
    let declared = AS_IN_7_2.iter().map(|one| one.name).chain(of_replies).any(|known| known == name);
    assert!(declared, "{name:?} is not declared in tests/src/differences");
    &[Kind::Valkey]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The tests that ask only the server of the 7.2 line, for another reason than a difference.
    const OTHERS: &[(&str, &str)] = &[
        ("families/hyperloglog.rs", "redis-server 7.0.15 is not patched: it writes beyond its memory"),
        ("families/standalone.rs", "WAITAOF came with 7.2, which the page says beside the command"),
    ];

    /// The sources below a folder.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn no_test_leaves_redis_7_0_out_without_a_declared_difference() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let mut found: Vec<String> = Vec::new();
        for path in sources(&tests) {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            if text.contains("same_on(&[Kind::Valkey]") {
                found.push(path.strip_prefix(&tests).expect("it is below").display().to_string());
            }
        }
        found.sort();
        assert_eq!(found, OTHERS.iter().map(|(file, _)| *file).collect::<Vec<_>>());
    }
}
