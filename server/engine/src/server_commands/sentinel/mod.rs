//! The commands of a sentinel: SENTINEL, and those that behave differently there.

mod changes;
mod master;
mod mode;
mod queries;
mod settings;

pub(crate) use mode::{HANDLERS, is_of_sentinel};

use crate::core::{Handler, PartHandler};
use crate::sentinel_server::SentinelHandler;
use crate::spec::{Flags, Row};
use master::{NO_MASTER, NOT_SAVED, NOT_TEXT};

pub(crate) const ROWS: &[Row<Handler>] = &[Row::container("sentinel", -2, SENTINEL)
    .flags(&[Flags::ADMIN])
    .about("sentinel", "2.8.4", "Depends on subcommand.")
    .summary("What a sentinel is asked and told.")];

const SENTINEL: &[Row<Handler>] = &[
    row("ckquorum", 3, "2.8.4", "", changes::check_quorum)
        .summary("Tells whether enough sentinels can be reached for a failover.")
        .syntax("master-name")
        .errors(&[NO_MASTER, "NOQUORUM *"])
        .help(&[
            "CKQUORUM <master-name>",
            "    Check if the current Sentinel configuration is able to reach the quorum",
            "    needed to failover a master and the majority needed to authorize the",
            "    failover.",
        ]),
    row("config", -3, "6.2.0", "O(1)", settings::config)
        .summary("The parameters of the sentinel itself.")
        .syntax("(set-or-get: SET (set-param-value: (parameter value) ...) | GET parameter [parameter ...])")
        .help(&[
            "CONFIG SET <param> <value>",
            "    Set a global Sentinel configuration parameter.",
            "CONFIG GET <param>",
            "    Get global Sentinel configuration parameter.",
        ]),
    row("debug", -2, "7.0.0", "O(N) where N is the number of configurable parameters", settings::debug)
        .summary("The periods of the sentinel.")
        .syntax("(parameter-value: parameter value) ...")
        .help(&[
            "DEBUG [<param> <value> ...]",
            "    Show a list of configurable time parameters and their values (milliseconds).",
            "    Or update current configurable parameters values (one or more).",
        ]),
    row("get-master-addr-by-name", 3, "2.8.4", "O(1)", queries::address)
        .summary("Where a master is.")
        .syntax("master-name")
        .help(&[
            "GET-MASTER-ADDR-BY-NAME <master-name>",
            "    Return the ip and port number of the master with that name.",
        ]),
    row("failover", 3, "2.8.4", "", changes::failover)
        .summary("Begins a failover without asking other sentinels.")
        .syntax("master-name")
        .errors(&[
            NO_MASTER,
            "INPROG Failover already in progress",
            "NOGOODSLAVE No suitable replica to promote",
        ])
        .help(&[
            "FAILOVER <master-name>",
            "    Manually failover a master node without asking for agreement from other",
            "    Sentinels",
        ]),
    row("flushconfig", 2, "2.8.4", "O(1)", changes::flush)
        .summary("Writes the configuration file.")
        .errors(&[NOT_SAVED])
        .help(&[
            "FLUSHCONFIG",
            "    Force Sentinel to rewrite its configuration on disk, including the current",
            "    Sentinel state.",
        ]),
    row("info-cache", -3, "3.2.0", "O(N) where N is the number of instances", queries::info_cache)
        .summary("The last INFO of masters and their replicas.")
        .syntax("nodename [nodename ...]")
        .help(&[
            "INFO-CACHE <master-name>",
            "    Return last cached INFO output from masters and all its replicas.",
        ]),
    row("is-master-down-by-addr", 6, "2.8.4", "O(1)", changes::is_master_down)
        .summary("Tells whether a master is down, and votes.")
        .syntax("ip port:integer current-epoch:integer runid")
        .errors(&["ERR value is not an integer or out of range"])
        .help(&[
            "IS-MASTER-DOWN-BY-ADDR <ip> <port> <current-epoch> <runid>",
            "    Check if the master specified by ip:port is down from current Sentinel's",
            "    point of view.",
        ]),
    row("master", 3, "2.8.4", "O(1)", queries::master)
        .summary("What is known of a master.")
        .syntax("master-name")
        .errors(&[NO_MASTER])
        .help(&["MASTER <master-name>", "    Show the state and info of the specified master."]),
    row("masters", 2, "2.8.4", "O(N) where N is the number of masters", queries::masters)
        .summary("What is known of all masters.")
        .help(&["MASTERS", "    Show a list of monitored masters and their state."]),
    row("monitor", 6, "2.8.4", "O(1)", changes::monitor)
        .summary("Watches a master.")
        .syntax("name ip port:integer quorum:integer")
        .errors(&[
            "ERR Invalid quorum",
            "ERR Invalid port",
            "ERR Quorum must be 1 or greater.",
            "ERR Invalid IP address or hostname specified",
            "ERR Invalid port number.",
            "ERR Duplicate master name.",
            NOT_TEXT,
            NOT_SAVED,
        ])
        .help(&[
            "MONITOR <name> <ip> <port> <quorum>",
            "    Start monitoring a new master with the specified name, ip, port and quorum.",
        ]),
    row("myid", 2, "6.2.0", "O(1)", queries::my_id)
        .summary("The sentinel's own name.")
        .help(&["MYID", "    Return the ID of the Sentinel instance."]),
    row("pending-scripts", 2, "2.8.4", "", queries::pending_scripts)
        .summary("Scripts that are to run: none.")
        .help(&["PENDING-SCRIPTS", "    Get pending scripts information."]),
    row("remove", 3, "2.8.4", "O(1)", changes::remove)
        .summary("Watches a master no longer.")
        .syntax("master-name")
        .errors(&[NO_MASTER, NOT_SAVED])
        .help(&["REMOVE <master-name>", "    Remove master from Sentinel's monitor list."]),
    row("replicas", 3, "5.0.0", "O(N) where N is the number of replicas", queries::replicas)
        .summary("What is known of a master's replicas.")
        .syntax("master-name")
        .errors(&[NO_MASTER])
        .help(&["REPLICAS <master-name>", "    Show a list of replicas for this master and their state."]),
    row("reset", 3, "2.8.4", "O(N) where N is the number of monitored masters", changes::reset)
        .summary("Forgets what is known of the masters that match.")
        .syntax("(pattern: pattern)")
        .help(&["RESET <pattern>", "    Reset masters for specific master name matching this pattern."]),
    row("sentinels", 3, "2.8.4", "O(N) where N is the number of Sentinels", queries::sentinels)
        .summary("What is known of the other sentinels of a master.")
        .syntax("master-name")
        .errors(&[NO_MASTER])
        .help(&[
            "SENTINELS <master-name>",
            "    Show a list of Sentinel instances for this master and their state.",
        ]),
    row("set", -5, "2.8.4", "O(1)", settings::set)
        .summary("Changes parameters of a master.")
        .syntax("master-name (option-value: option value) ...")
        .errors(&[
            NO_MASTER,
            "ERR Unknown option or number of arguments for SENTINEL SET '*'",
            "ERR Invalid argument '*' for SENTINEL SET '*'",
            NOT_SAVED,
        ])
        .help(&[
            "SET <master-name> <option> <value> [<option> <value> ...]",
            "    Set configuration parameters for certain masters.",
        ]),
    row("simulate-failure", -3, "3.2.0", "", settings::simulate_failure)
        .summary("Lets the sentinel end in the middle of a failover.")
        .syntax("[mode: crash-after-election | crash-after-promotion | help] ...")
        .errors(&["ERR Unknown failure simulation specified"])
        .help(&[
            "SIMULATE-FAILURE [CRASH-AFTER-ELECTION] [CRASH-AFTER-PROMOTION] [HELP]",
            "    Simulate a Sentinel crash.",
        ]),
    row("slaves", 3, "2.8.0", "O(N) where N is the number of slaves", queries::replicas)
        .summary("The same as SENTINEL REPLICAS.")
        .deprecated("5.0.0", "`SENTINEL REPLICAS`")
        .syntax("master-name")
        .errors(&[NO_MASTER]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("sentinel", "6.2.0", "O(1)")
        .summary("The subcommands of SENTINEL."),
];

const fn row(
    name: &'static str,
    arity: i32,
    since: &'static str,
    complexity: &'static str,
    handler: SentinelHandler,
) -> Row<Handler> {
    Row::new(name, arity, Handler::Part(PartHandler::Sentinel(handler)))
        .flags(&[Flags::ADMIN])
        .about("sentinel", since, complexity)
}
