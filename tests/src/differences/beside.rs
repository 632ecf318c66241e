//! Differences that no exchange of one client shows: each with its reason, and with the test that covers it.

/// A deliberate difference that is visible elsewhere than in a reply.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// The difference itself.
    pub name: &'static str,
    /// The reason for it.
    pub reason: &'static str,
    /// A file of the repository, and the name of a test in it.
    pub held_by: (&'static str, &'static str),
}

/// The known differences of this kind.
pub const BESIDE: &[Beside] = &[
    Beside {
        name: "eviction is bounded by keys",
        reason: "Redis evicts for some time before a request; here the same requests must evict the same keys, so it \
                 is a number of keys that grows with maxmemory-eviction-tenacity as that time does",
        held_by: ("server/engine/src/limits/keys.rs", "the_tenacity_grows_as_in_redis"),
    },
    Beside {
        name: "FLUSHALL does not end a BGSAVE",
        reason: "Redis ends the process that saves, to save memory; here a snapshot keeps what there was, and the file \
                 is what BGSAVE has promised",
        held_by: (
            "tests/tests/families/rdb_files.rs",
            "a_save_in_the_background_has_what_there_was_when_it_began",
        ),
    },
    Beside {
        name: "a failed DEBUG RELOAD changes nothing",
        reason: "Redis flushes first and ends the server when the file is damaged; here what is refused changes \
                 nothing",
        held_by: ("tests/tests/families/rdb_files.rs", "a_file_that_is_broken_is_refused_as_a_whole"),
    },
    Beside {
        name: "`lockwheel run` and embedded servers read no file unless told",
        reason: "a test begins empty, whatever a server has left in the directory; `--load` and `Builder::load` name a \
                 file",
        held_by: ("tests/tests/families/rdb_files.rs", "who_serves_a_test_begins_empty"),
    },
    Beside {
        name: "save points and the append-only file write nothing",
        reason: "nor does the end by SHUTDOWN or a signal, at which Redis saves when it has save points: a test begins \
                 empty, whatever a server before it has had. SAVE, BGSAVE and SHUTDOWN SAVE write a file, and so does \
                 a signal if shutdown-on-sigterm or shutdown-on-sigint has the word save",
        held_by: (
            "tests/tests/families/rdb_files.rs",
            "save_points_are_told_and_no_end_writes_unless_it_is_told_to",
        ),
    },
    Beside {
        name: "a monitor has the output limits of subscribers",
        reason: "Redis gives monitors those of replicas, which grow without bound by default on a busy server",
        held_by: ("tests/tests/families/monitor.rs", "a_monitor_that_does_not_read_is_disconnected"),
    },
    Beside {
        name: "CONFIG REWRITE keeps the permissions of the file",
        reason: "Redis makes a new file that others may read; who has kept others from a password keeps doing so",
        held_by: ("tests/tests/alone/limits/rewrite.rs", "the_file_keeps_its_permissions"),
    },
    Beside {
        name: "CONFIG REWRITE sorts what it adds",
        reason: "Redis' order is that of a table whose hash is seeded anew at each start",
        held_by: ("tests/tests/alone/limits/rewrite.rs", "what_is_added_is_what_is_not_at_its_default"),
    },
    Beside {
        name: "overlapping prefixes are one error",
        reason: "where a second or later of several new prefixes overlaps with another new one, Redis answers an error \
                 and then OK, so that the replies that follow are taken for those of other requests",
        held_by: ("tests/tests/families/tracking/bounds.rs", "prefixes_that_overlap_are_answered_once"),
    },
    Beside {
        name: "what servers send one another is not encrypted",
        reason: "tls-cluster and tls-replication are refused, in the words in which Redis refuses what it cannot have",
        held_by: ("tests/tests/alone/limits/parameters.rs", "what_cannot_be_had_is_refused_as_by_redis"),
    },
    Beside {
        name: "with lua-enable-deprecated-api too no script changes the next",
        reason: "no finalizer of newproxy runs, which would between scripts, and setfenv leaves the globals that the \
                 server itself uses",
        held_by: (
            "tests/tests/alone/limits/parameters.rs",
            "what_is_deprecated_changes_nothing_for_later_scripts",
        ),
    },
    Beside {
        name: "what may run beside a slow script is not paused",
        reason: "in Redis no pause ends while a script runs, so that one that began in a transaction with CLIENT PAUSE \
                 could never be killed",
        held_by: ("tests/tests/families/busy.rs", "a_script_that_began_in_a_pause_can_be_killed"),
    },
    Beside {
        name: "INFO has fields of our own",
        reason: "`lockwheel_version`, and `total_unblocked_clients`, which is shown by no Redis",
        held_by: ("tests/tests/families/info.rs", "the_fields_are_those_of_redis_in_its_order"),
    },
    Beside {
        name: "who is paused is not unblocked",
        reason: "redis-server 7.0 ends with a failed assertion at CLIENT UNBLOCK of a client that CLIENT PAUSE holds",
        held_by: ("tests/tests/families/tracking/pauses.rs", "who_is_paused_can_be_killed_and_not_unblocked"),
    },
];

#[cfg(test)]
mod tests {
    use super::super::newer::AS_IN_7_2;
    use super::super::together::TOGETHER;
    use super::*;
    use std::path::Path;

    #[test]
    fn each_is_held_by_a_test() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for Beside { name, reason, held_by: (file, test) } in BESIDE.iter().chain(TOGETHER).chain(AS_IN_7_2) {
            let source = std::fs::read_to_string(root.join(file)).expect("the file is there");
            assert!(source.contains(&format!("fn {test}()")), "{name}: {file} has no {test}");
            assert!(!reason.is_empty());
        }
    }
}
