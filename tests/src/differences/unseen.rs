//! Differences that no exchange of one client shows: each with its reason, and with the test that covers it.

/// A deliberate difference that is visible elsewhere than in a reply.
#[derive(Clone, Copy, Debug)]
pub struct UnseenDifference {
    /// The difference itself.
    pub name: &'static str,
    /// The reason for it.
    pub reason: &'static str,
    /// A file of the repository, and the name of a test in it.
    pub held_by: (&'static str, &'static str),
}

/// The known differences of this kind.
pub const UNSEEN: &[UnseenDifference] = &[
    UnseenDifference {
        name: "eviction is bounded by a number of keys",
        reason: "before a request, Redis evicts for a limited time. Lockwheel evicts a limited number of \
                 keys, so that the same requests evict the same keys. This number grows with \
                 maxmemory-eviction-tenacity as the time does in Redis",
        held_by: ("server/engine/src/limits/keys.rs", "the_tenacity_grows_as_in_redis"),
    },
    UnseenDifference {
        name: "FLUSHALL does not end a BGSAVE",
        reason: "Redis kills the saving process to free memory. In Lockwheel, a snapshot keeps the old data, \
                 and BGSAVE writes the file as promised",
        held_by: ("tests/tests/families/rdb_files.rs", "a_background_save_has_the_data_of_its_start"),
    },
    UnseenDifference {
        name: "a failed DEBUG RELOAD changes nothing",
        reason: "Redis flushes first, and exits if the file is damaged. In Lockwheel, a refused file changes \
                 nothing",
        held_by: ("tests/tests/families/rdb_files.rs", "a_broken_file_is_refused_as_a_whole"),
    },
    UnseenDifference {
        name: "`lockwheel run` and embedded servers load no file by default",
        reason: "a test starts with no data, whatever file an earlier server has left in the directory. \
                 `--load` and `Builder::load` name a file to load",
        held_by: ("tests/tests/families/rdb_files.rs", "a_test_server_starts_without_data"),
    },
    UnseenDifference {
        name: "save points write nothing",
        reason: "Redis also saves at SHUTDOWN or a signal if it has save points; Lockwheel does not. So a \
                 test starts with no data, whatever an earlier server held. SAVE, BGSAVE and SHUTDOWN SAVE \
                 write a file. A signal writes one if shutdown-on-sigterm or shutdown-on-sigint contains the \
                 word save",
        held_by: (
            "tests/tests/families/rdb_files.rs",
            "save_points_are_reported_and_shutdown_saves_only_on_request",
        ),
    },
    UnseenDifference {
        name: "an append-only file that ends within a transaction is cut before the transaction",
        reason: "Redis cuts behind the last whole request of the transaction. What it appends next then belongs \
                 to the open transaction, and the start after that drops all of it. Lockwheel loses nothing",
        held_by: (
            "tests/tests/families/append_only/broken_files.rs",
            "a_file_that_ends_early_is_cut_as_by_redis",
        ),
    },
    UnseenDifference {
        name: "the programs `run` and `topology`, and embedded servers, keep no append-only file",
        reason: "several servers would share its directory. They accept `appendonly yes`, as before",
        held_by: ("tests/tests/families/append_only/restarts.rs", "embedded_servers_keep_no_file"),
    },
    UnseenDifference {
        name: "a monitor has the output limits of subscribers",
        reason: "Redis applies the limits of replicas to monitors. By default, the output buffer of a \
                 monitor on a busy server then grows without bound",
        held_by: ("tests/tests/families/monitor.rs", "a_monitor_that_does_not_read_is_disconnected"),
    },
    UnseenDifference {
        name: "CONFIG REWRITE keeps the permissions of the file",
        reason: "Redis writes a new file that other users may read. In Lockwheel, a password that others \
                 could not read stays protected",
        held_by: ("tests/tests/alone/limits/rewrite.rs", "config_rewrite_keeps_the_permissions_of_the_file"),
    },
    UnseenDifference {
        name: "CONFIG REWRITE sorts the lines that it adds",
        reason: "in Redis, the order is that of a hash table with a new seed at each start",
        held_by: ("tests/tests/alone/limits/rewrite.rs", "config_rewrite_adds_only_changed_parameters"),
    },
    UnseenDifference {
        name: "overlapping prefixes cause one error",
        reason: "if the second or a later new prefix overlaps with another new one, Redis sends an error and \
                 then OK. The client then takes later replies for those of other requests",
        held_by: ("tests/tests/families/tracking/bounds.rs", "overlapping_prefixes_get_one_error"),
    },
    UnseenDifference {
        name: "connections between servers are not encrypted",
        reason: "Lockwheel refuses tls-cluster and tls-replication with the error of Redis for a setting \
                 that cannot be applied",
        held_by: ("tests/tests/alone/limits/parameters.rs", "unsupported_values_are_refused_as_by_redis"),
    },
    UnseenDifference {
        name: "scripts stay isolated with lua-enable-deprecated-api",
        reason: "finalizers of newproxy do not run, since they would run between scripts. A call of setfenv \
                 does not change the globals that the server itself uses",
        held_by: (
            "tests/tests/alone/limits/parameters.rs",
            "the_deprecated_lua_api_does_not_affect_later_scripts",
        ),
    },
    UnseenDifference {
        name: "commands that may run during a slow script are not paused",
        reason: "in Redis, no pause ends while a script runs. A script that began in a transaction with \
                 CLIENT PAUSE could therefore never be killed",
        held_by: ("tests/tests/families/busy.rs", "a_script_that_starts_during_a_pause_can_be_killed"),
    },
    UnseenDifference {
        name: "INFO has additional fields",
        reason: "`lockwheel_version`, `mem_locks_fences`, `mem_locks_past` and `total_unblocked_clients` do \
                 not exist in any Redis",
        held_by: ("tests/tests/families/info.rs", "info_has_the_fields_of_redis_in_its_order"),
    },
    UnseenDifference {
        name: "a paused client cannot be unblocked",
        reason: "CLIENT UNBLOCK of a client that CLIENT PAUSE holds makes redis-server 7.0 exit with a \
                 failed assertion",
        held_by: (
            "tests/tests/families/tracking/pauses.rs",
            "a_paused_client_can_be_killed_but_not_unblocked",
        ),
    },
];

#[cfg(test)]
mod tests {
    use super::super::newer::AS_IN_7_2;
    use super::super::several_servers::OF_SEVERAL_SERVERS;
    use super::*;
    use std::path::Path;

    #[test]
    fn each_difference_has_a_test() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for UnseenDifference { name, reason, held_by: (file, test) } in
            UNSEEN.iter().chain(OF_SEVERAL_SERVERS).chain(AS_IN_7_2)
        {
            let source = std::fs::read_to_string(root.join(file)).expect("the file is there");
            assert!(source.contains(&format!("fn {test}()")), "{name}: {file} has no {test}");
            assert!(!reason.is_empty());
        }
    }
}
