//! Differences of servers that belong together (masters and replicas, sentinels, nodes of a cluster): each with its
//! reason, and with the test that covers it.

use super::beside::Beside;

/// The known differences of this kind.
pub const TOGETHER: &[Beside] = &[
    Beside {
        name: "the stream has keys, not commands",
        reason: "what a command, a script or a transaction has changed goes once, as it is then, so that a replica is \
                 always in a state that the master was in, whichever version it is of",
        held_by: (
            "server/engine/src/replication/feed.rs",
            "each_key_is_told_once_and_where_it_is_at_the_end",
        ),
    },
    Beside {
        name: "keyspace events of a replica are `restore` and `del`",
        reason: "they are those of the stream",
        held_by: ("tests/tests/families/topology/differences.rs", "a_replica_tells_the_events_of_the_stream"),
    },
    Beside {
        name: "a replica bounds what its master announces",
        reason: "Redis trusts its master in lengths; here memory grows with what has arrived",
        held_by: (
            "tests/tests/alone/hostile_master.rs",
            "memory_grows_with_what_arrives_and_not_with_what_is_announced",
        ),
    },
    Beside {
        name: "SENTINEL SET changes all of its options or none",
        reason: "what is refused changes nothing; Redis keeps the options before the wrong one",
        held_by: (
            "tests/tests/families/topology/differences.rs",
            "several_options_of_a_master_are_set_together_or_not_at_all",
        ),
    },
    Beside {
        name: "link-refcount of a sentinel is 1",
        reason: "each master that is watched has connections of its own to the other sentinels",
        held_by: (
            "tests/tests/families/topology/differences.rs",
            "each_master_has_connections_of_its_own_to_other_sentinels",
        ),
    },
    Beside {
        name: "a clock that is turned step by step is no tilt",
        reason: "a test turns it; a clock that jumps by itself is distrusted as in Redis",
        held_by: ("server/engine/src/sentinel/tests.rs", "a_clock_that_is_turned_is_trusted"),
    },
    Beside {
        name: "nodes speak by CLUSTER GOSSIP",
        reason: "there is no port for nodes: they use those of clients, where they log in like any other",
        held_by: ("tests/tests/families/cluster/together.rs", "what_is_no_message_is_refused"),
    },
    Beside {
        name: "replicas do not move to masters that have none",
        reason: "whose replica a server is, a test says; `cluster-migration-barrier` is there to be read",
        held_by: ("tests/tests/families/topology/differences.rs", "replicas_stay_with_their_master"),
    },
    Beside {
        name: "a node serves requests at once after its start",
        reason: "Redis waits for two seconds until it may have heard of a newer view; here nobody is to wait",
        held_by: (
            "tests/tests/families/cluster/at_start.rs",
            "a_node_begins_with_the_file_that_redissons_tests_write",
        ),
    },
    Beside {
        name: "what a server loses in a failover is no end of its holds",
        reason: "nobody has told their owners, who work on: that is what LOCK.VERIFY is asked about",
        held_by: (
            "tests/tests/families/topology/history.rs",
            "a_lock_that_two_masters_granted_is_a_violation_that_names_them",
        ),
    },
];
