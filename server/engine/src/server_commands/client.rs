//! CLIENT: the state of a client's own connection and of other clients.

use super::client_filter::Filter;
use super::client_rows::{ADMIN, row};
use super::{client_pause, client_tracking};
use crate::client_list::{ClientEffect, ClientList};
use crate::clients::{Session, Sessions, Slot, check_client_name};
use crate::core::{ClientHandler, Handler};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors, quotable, unknown_or_arity};
use lockwheel_resp::Reply;

pub(super) const ROWS: &[Row<Handler>] = &[Row::container("client", -2, CLIENT)
    .about("connection", "2.4.0", "Depends on subcommand.")
    .summary("Looks after the connections of clients.")];

const CLIENT: &[Row<Handler>] = &[
    client_tracking::CACHING,
    row("getname", 2, Handler::Session(getname))
        .about("connection", "2.6.9", "O(1)")
        .summary("Gives the name of the connection.")
        .help(&["GETNAME", "    Return the name of the current connection."])
        .help_after("getredir"),
    client_tracking::GETREDIR,
    Row::help_command("help", 2)
        .categories(&["connection"])
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("connection", "5.0.0", "O(1)")
        .summary("Explains the subcommands."),
    row("id", 2, Handler::Session(id))
        .about("connection", "5.0.0", "O(1)")
        .summary("Gives the number of the connection.")
        .help(&["ID", "    Return the ID of the current connection."])
        .help_after("getname"),
    row("info", 2, Handler::Client(&ClientHandler::List(info)))
        .about("connection", "6.2.0", "O(1)")
        .summary("Tells about the connection.")
        .help(&["INFO", "    Return information about the current client connection."])
        .tips(&["nondeterministic_output"]),
    row("kill", -3, Handler::Client(&ClientHandler::List(kill)))
        .flags(&[ADMIN])
        .about("connection", "2.4.0", "O(N) where N is the number of client connections")
        .summary("Closes connections.")
        .history(&[
            ("2.8.12", "Added new filter format."),
            ("2.8.12", "`ID` option."),
            ("3.2.0", "Added `master` type in for `TYPE` option."),
            (
                "5.0.0",
                "Replaced `slave` `TYPE` with `replica`. `slave` still supported for backward compatibility.",
            ),
            ("6.2.0", "`LADDR` option."),
        ])
        .help(&[
            "KILL <ip:port>",
            "    Kill connection made from <ip:port>.",
            "KILL <option> <value> [<option> <value> [...]]",
            "    Kill connections. Options are:",
            "    * ADDR (<ip:port>|<unixsocket>:0)",
            "      Kill connections made from the specified address",
            "    * LADDR (<ip:port>|<unixsocket>:0)",
            "      Kill connections made to specified local address",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "      Kill connections by type.",
            "    * USER <username>",
            "      Kill connections authenticated by <username>.",
            "    * SKIPME (YES|NO)",
            "      Skip killing current connection (default: yes).",
        ])
        .syntax(
            "(filter: ip:port@-2.8.12 | (new-format: [ID client-id@2.8.12] | \
             [TYPE (normal_master_slave_pubsub@2.8.12: NORMAL | MASTER@3.2.0 | SLAVE | REPLICA@5.0.0 | PUBSUB)] | \
             [USER username] | [ADDR ip:port] | [LADDR ip:port@6.2.0] | [SKIPME yes/no]) ...)",
        )
        .errors(&[
            "ERR No such client",
            "ERR No such user 'username'",
            "ERR Unknown client type 'type'",
            "ERR client-id should be greater than 0",
            "ERR syntax error",
        ]),
    row("list", -2, Handler::Client(&ClientHandler::List(list)))
        .flags(&[ADMIN])
        .about("connection", "2.4.0", "O(N) where N is the number of client connections")
        .summary("Tells about all connections.")
        .history(&[
            ("2.8.12", "Added unique client `id` field."),
            ("5.0.0", "Added optional `TYPE` filter."),
            ("6.0.0", "Added `user` field."),
            (
                "6.2.0",
                "Added `argv-mem`, `tot-mem`, `laddr` and `redir` fields and the optional `ID` filter.",
            ),
            ("7.0.0", "Added `resp`, `multi-mem`, `rbs` and `rbp` fields."),
            ("7.0.3", "Added `ssub` field."),
        ])
        .help(&[
            "LIST [options ...]",
            "    Return information about client connections. Options:",
            "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
            "      Return clients of specified type.",
        ])
        .syntax(
            "[TYPE (normal_master_replica_pubsub@5.0.0: NORMAL | MASTER | REPLICA | PUBSUB)] \
             [ID (id@6.2.0: client-id [client-id ...])]",
        )
        .tips(&["nondeterministic_output"])
        .errors(&["ERR Invalid client ID", "ERR Unknown client type 'type'", "ERR syntax error"]),
    row("no-evict", 3, Handler::Session(no_evict))
        .flags(&[ADMIN])
        .about("connection", "7.0.0", "O(1)")
        .summary("Says whether the connection may be closed to save memory.")
        .help(&["NO-EVICT (ON|OFF)", "    Protect current client connection from eviction."])
        .help_after("trackinginfo")
        .syntax("(enabled: ON | OFF)")
        .errors(&["ERR syntax error"]),
    row("no-touch", 3, Handler::Session(no_touch))
        .about("connection", "7.2.0", "O(1)")
        .summary("Says whether reading a key counts as using it.")
        .help(&["NO-TOUCH (ON|OFF)", "    Will not touch LRU/LFU stats when this mode is on."])
        .syntax("(enabled: ON | OFF)")
        .errors(&["ERR syntax error"]),
    client_pause::PAUSE,
    row("reply", 3, Handler::Session(reply_mode))
        .about("connection", "3.2.0", "O(1)")
        .summary("Says whether commands are answered.")
        .help(&["REPLY (ON|OFF|SKIP)", "    Control the replies sent to the current connection."])
        .syntax("(ON | OFF | SKIP)")
        .errors(&["ERR syntax error"]),
    row("setinfo", 4, Handler::Session(setinfo))
        .about("connection", "7.2.0", "O(1)")
        .summary("Tells the server about the client's library.")
        .help(&[
            "SETINFO <option> <value>",
            "    Set client meta attr. Options are:",
            "    * LIB-NAME: the client lib name.",
            "    * LIB-VER: the client lib version.",
        ])
        .syntax("(attr: LIB-NAME libname | LIB-VER libver)")
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .errors(&[
            "ERR Unrecognized option 'option'",
            "ERR lib-name cannot contain spaces, newlines or special characters.",
        ]),
    row("setname", 3, Handler::Client(&ClientHandler::Naming(setname)))
        .about("connection", "2.6.9", "O(1)")
        .summary("Names the connection.")
        .help(&["SETNAME <name>", "    Assign the name <name> to the current connection."])
        .syntax("connection-name")
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .errors(&["ERR Client names cannot contain spaces, newlines or special characters."]),
    client_tracking::TRACKING,
    client_tracking::TRACKINGINFO,
    row("unblock", -3, Handler::Client(&ClientHandler::List(unblock)))
        .flags(&[ADMIN])
        .about("connection", "5.0.0", "O(log N) where N is the number of client connections")
        .summary("Ends the wait of a client that is blocked.")
        .help(&["UNBLOCK <clientid> [TIMEOUT|ERROR]", "    Unblock the specified blocked client."])
        .syntax("client-id [TIMEOUT | ERROR]")
        .errors(&[
            "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
            "ERR value is not an integer or out of range",
        ]),
    client_pause::UNPAUSE,
];

fn getname(session: &mut Session, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    match session.name.is_empty() {
        true => reply.null(),
        false => reply.bulk(&session.name),
    }
    Ok(())
}

fn setname(sessions: &mut Sessions, own: Slot, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    check_client_name(&args[2])?;
    sessions.rename(own, &args[2]);
    reply.ok();
    Ok(())
}

fn setinfo(session: &mut Session, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (option, value) = (&args[2], &args[3]);
    let field = if args.is(2, "lib-name") {
        &mut session.lib_name
    } else if args.is(2, "lib-ver") {
        &mut session.lib_ver
    } else {
        return Err(CommandError::new([b"ERR Unrecognized option '", quotable(option), b"'"].concat()));
    };
    if check_client_name(value).is_err() {
        let text = [option, b" cannot contain spaces, newlines or special characters."].concat();
        return Err(CommandError::new([b"ERR ", &*text].concat()));
    }
    *field = value.into();
    reply.ok();
    Ok(())
}

fn id(session: &mut Session, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(session.id as i64);
    Ok(())
}

fn switch(args: Args<'_>) -> Result<bool, CommandError> {
    match (args.is(2, "on"), args.is(2, "off")) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        _ => Err(errors::SYNTAX),
    }
}

fn no_evict(session: &mut Session, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    session.no_evict = switch(args)?;
    reply.ok();
    Ok(())
}

fn no_touch(session: &mut Session, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    session.no_touch = switch(args)?;
    reply.ok();
    Ok(())
}

fn reply_mode(session: &mut Session, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.is(2, "on") {
        session.delivery.mode.turn_on();
        reply.mute(false);
        reply.ok();
    } else if args.is(2, "off") {
        session.delivery.mode.turn_off();
        reply.mute(true);
    } else if args.is(2, "skip") {
        session.delivery.mode.skip_next();
    } else {
        return Err(errors::SYNTAX);
    }
    Ok(())
}

fn unblock(
    _: ClientList<'_>,
    _: Slot,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<ClientEffect, CommandError> {
    if args.len() > 4 {
        return Err(unknown_or_arity(args));
    }
    let with_error = match args.get(3) {
        None => false,
        Some(_) if args.is(3, "timeout") => false,
        Some(_) if args.is(3, "error") => true,
        Some(_) => return Err(CommandError::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
    };
    let id = args.int(2)?;
    Ok(match u64::try_from(id) {
        Ok(client) => ClientEffect::Unblock { client, with_error },
        Err(_) => {
            reply.integer(0);
            ClientEffect::None
        }
    })
}

fn info(
    clients: ClientList<'_>,
    own: Slot,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<ClientEffect, CommandError> {
    let mut text = Vec::new();
    clients.describe_to(own, args, clients.sessions.get(own), &mut text);
    reply.verbatim(*b"txt", &text);
    Ok(ClientEffect::None)
}

fn list(
    clients: ClientList<'_>,
    own: Slot,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<ClientEffect, CommandError> {
    let mut text = Vec::new();
    let mut describe = |session| clients.describe_to(own, args, session, &mut text);
    match args.len() {
        2 => clients.listed().for_each(&mut describe),
        4 if args.is(2, "type") => {
            let filter = Filter::of_type(&args[3])?;
            clients.listed().filter(|session| filter.matches(session)).for_each(&mut describe);
        }
        4.. if args.is(2, "id") => {
            let invalid = CommandError::text("ERR Invalid client ID");
            let ids = (3..args.len()).map(|i| args.int(i).map_err(|_| invalid.clone()));
            for id in ids.collect::<Result<Vec<i64>, _>>()? {
                let session = u64::try_from(id).ok().and_then(|id| clients.find(id));
                session.into_iter().for_each(&mut describe);
            }
        }
        _ => return Err(errors::SYNTAX),
    }
    reply.verbatim(*b"txt", &text);
    Ok(ClientEffect::None)
}

fn kill(
    clients: ClientList<'_>,
    own: Slot,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<ClientEffect, CommandError> {
    let by_address = args.len() == 3;
    let filter = if by_address { Filter::of_address(&args[2]) } else { Filter::parse(args, clients.users)? };
    let Session { id: own, peer, .. } = clients.sessions.get(own);
    // As a sentinel of this process promotes a server, its clients are killed, but not the test's that controls it.
    let (own, is_sentinel) = (*own, peer.in_process);
    let is_spared = |id| {
        if id == own { filter.skip_me } else { is_sentinel && clients.faults.connections.is_exempt(id) }
    };
    let is_wanted = |session: &&Session| filter.matches(session) && !is_spared(session.id);
    // A client given by its id is found without a scan of all others.
    let mut wanted: Vec<Slot> = match filter.id {
        Some(id) => clients.find(id).filter(is_wanted).map(|session| session.slot).into_iter().collect(),
        None => clients.listed().filter(is_wanted).map(|session| session.slot).collect(),
    };
    if by_address {
        wanted.truncate(1);
        if wanted.is_empty() {
            return Err(CommandError::text("ERR No such client"));
        }
        reply.ok();
    } else {
        reply.integer(wanted.len() as i64);
    }
    Ok(ClientEffect::Kill(wanted))
}
