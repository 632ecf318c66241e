//! Differences of servers that belong together (masters and replicas, sentinels, nodes of a cluster): each with its
//! reason, and with the test that covers it.

use super::unseen::UnseenDifference;

/// The known differences of this kind.
pub const OF_SEVERAL_SERVERS: &[UnseenDifference] = &[
    UnseenDifference {
        name: "native commands are replicated as other commands or as values",
        reason: "a command that no Redis has is sent as commands on its keys, or as the values of the changed keys. \
                 A change that no command has made is sent as values, too. A replica may be a real server",
        held_by: (
            "tests/tests/families/replication/native_families.rs",
            "a_lock_with_one_owner_sends_its_fields",
        ),
    },
    UnseenDifference {
        name: "keyspace events of native commands are those of other commands on a replica",
        reason: "the events of a replica are those of the replication stream",
        held_by: (
            "tests/tests/families/topology/differences.rs",
            "a_replica_publishes_keyspace_events_of_replicated_writes",
        ),
    },
    UnseenDifference {
        name: "a new consumer is replicated by XGROUP CREATECONSUMER",
        reason: "XREADGROUP creates the consumer even if there is no entry, as in Redis 7.2. The master sends that, \
                 so a replica has the same consumers",
        held_by: ("tests/tests/families/replication/stream.rs", "a_consumer_without_entries_is_sent"),
    },
    UnseenDifference {
        name: "a replica does not trust lengths from its master",
        reason: "Redis trusts the lengths that its master announces. In Lockwheel, memory grows only with \
                 the data that has arrived",
        held_by: (
            "tests/tests/alone/hostile_master.rs",
            "memory_grows_with_received_and_not_with_announced_data",
        ),
    },
    UnseenDifference {
        name: "SENTINEL SET changes all its options or none",
        reason: "a refused request changes nothing. Redis keeps the changes of the options before the wrong \
                 one",
        held_by: (
            "tests/tests/families/topology/differences.rs",
            "several_options_of_a_master_are_set_together_or_not_at_all",
        ),
    },
    UnseenDifference {
        name: "link-refcount of a sentinel is 1",
        reason: "a sentinel has separate connections to the other sentinels for each monitored master",
        held_by: (
            "tests/tests/families/topology/differences.rs",
            "each_master_has_its_own_connections_to_other_sentinels",
        ),
    },
    UnseenDifference {
        name: "a clock that a test advances does not cause TILT",
        reason: "a sentinel trusts a clock that a test advances step by step. It distrusts a clock that \
                 jumps by itself, as in Redis",
        held_by: (
            "server/engine/src/sentinel/tests.rs",
            "an_advance_of_the_manual_clock_starts_no_tilt_mode",
        ),
    },
    UnseenDifference {
        name: "nodes communicate by CLUSTER GOSSIP",
        reason: "there is no cluster bus port. Nodes connect to the ports for clients, and log in like any \
                 client",
        held_by: ("tests/tests/families/cluster/joined_nodes.rs", "malformed_gossip_messages_are_refused"),
    },
    UnseenDifference {
        name: "replicas do not migrate to orphaned masters",
        reason: "a test decides which master a replica has. The parameter `cluster-migration-barrier` can be \
                 read, but has no effect",
        held_by: ("tests/tests/families/topology/differences.rs", "replicas_stay_with_their_master"),
    },
    UnseenDifference {
        name: "a node serves requests immediately after its start",
        reason: "Redis waits for two seconds, since it may learn of a newer configuration. In Lockwheel, no \
                 client has to wait",
        held_by: (
            "tests/tests/families/cluster/at_start.rs",
            "a_node_starts_with_the_file_that_redissons_tests_write",
        ),
    },
    UnseenDifference {
        name: "a lock that is lost in a failover still counts as held",
        reason: "the owners are not notified and continue to work. LOCK.VERIFY reports the violations that \
                 result",
        held_by: (
            "tests/tests/families/topology/history.rs",
            "a_lock_granted_by_two_masters_is_a_violation_that_names_them",
        ),
    },
];
