//! The commands of a connection: AUTH, ECHO, HELLO, PING, QUIT, RESET, SELECT.

use crate::acl::User;
use crate::clients::{Closing, LoginControl, LoginEffect, LoginError, Session, check_client_name};
use crate::config::Config;
use crate::core::{ClientHandler, Handler};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors, quotable};
use lockwheel_resp::{Protocol, Reply, number};

pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("auth", -2, Handler::Client(&ClientHandler::Login(auth)))
        .secrets(auth_secrets)
        .flags(&[NO_AUTH_FLAGS, Flags::ALLOW_BUSY])
        .categories(&["connection"])
        .about("connection", "1.0.0", "O(N) where N is the number of passwords defined for the user")
        .summary("Authenticates the connection.")
        .history(&[("6.0.0", "Added ACL style (username and password).")])
        .syntax("[username@6.0.0] password")
        .errors(&[
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
            "WRONGPASS invalid username-password pair or user is disabled.",
            "ERR syntax error",
        ]),
    Row::new("echo", 2, Handler::Stateless(echo))
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["connection"])
        .about("connection", "1.0.0", "O(1)")
        .summary("Returns its argument.")
        .syntax("message"),
    Row::new("hello", -1, Handler::Client(&ClientHandler::Login(hello)))
        .secrets(hello_secrets)
        .flags(&[NO_AUTH_FLAGS, Flags::ALLOW_BUSY])
        .categories(&["connection"])
        .about("connection", "6.0.0", "O(1)")
        .summary("Chooses the protocol, and tells about the server.")
        .history(&[
            (
                "6.2.0",
                "`protover` made optional; when called without arguments the command reports the current \
                 connection's context.",
            ),
        ])
        .syntax("[arguments: protover [AUTH username password] [SETNAME clientname]]")
        .errors(&[
            "ERR Protocol version is not an integer or out of range",
            "NOPROTO unsupported protocol version",
            "WRONGPASS invalid username-password pair or user is disabled.",
        ]),
    Row::new("ping", -1, Handler::Session(ping))
        .flags(&[Flags::FAST, Flags::WHILE_SUBSCRIBED])
        .categories(&["connection"])
        .about("connection", "1.0.0", "O(1)")
        .summary("Checks that the server replies.")
        .syntax("[message]")
        .tips(&["request_policy:all_shards", "response_policy:all_succeeded"]),
    Row::new("quit", -1, Handler::Session(quit))
        .flags(&[NO_AUTH_FLAGS, Flags::ALLOW_BUSY, Flags::UNQUEUED, Flags::WHILE_SUBSCRIBED])
        .categories(&["connection"])
        .about("connection", "1.0.0", "O(1)")
        .summary("Closes the connection."),
    Row::new("reset", 1, Handler::Client(&ClientHandler::Reset(check_reset)))
        .flags(&[NO_AUTH_FLAGS, Flags::ALLOW_BUSY, Flags::UNQUEUED, Flags::WHILE_SUBSCRIBED])
        .categories(&["connection"])
        .about("connection", "6.2.0", "O(1)")
        .summary("Resets the connection to its initial state."),
    Row::new("select", 2, Handler::ConfiguredSession(select))
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["connection"])
        .about("connection", "1.0.0", "O(1)")
        .summary("Changes the database.")
        .syntax("index")
        .errors(&["ERR DB index is out of range"]),
];

const NO_AUTH_FLAGS: Flags =
    Flags::of(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST, Flags::NO_AUTH]);

/// Returns the positions of the words of AUTH. With too many words, AUTH is refused before they are read.
fn auth_secrets(args: Args<'_>) -> Vec<usize> {
    (1..args.len()).filter(|_| args.len() <= 3).collect()
}

/// Returns the positions of the names and passwords of HELLO.
fn hello_secrets(args: Args<'_>) -> Vec<usize> {
    let mut secrets = Vec::new();
    let mut at = 2;
    while at < args.len() {
        at += if args.is(at, "auth") {
            secrets.extend(at + 1..args.len().min(at + 3));
            3
        } else if args.is(at, "setname") {
            2
        } else {
            1
        };
    }
    secrets
}

fn auth(
    mut control: LoginControl<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<LoginEffect, LoginError> {
    let (name, password) = match args.len() {
        2 => (User::DEFAULT, &args[1]),
        3 => (&args[1], &args[2]),
        _ => return Err(errors::SYNTAX.into()),
    };
    if args.len() == 2 && control.users.is_default_without_password() {
        return Err(CommandError::text(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
        )
        .into());
    }
    control.log_in(name, password)?;
    reply.ok();
    Ok(LoginEffect::None)
}

fn hello(
    mut control: LoginControl<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<LoginEffect, LoginError> {
    let protocol = asked_protocol(args)?;
    let options = HelloOptions::parse(args)?;
    if let Some((name, password)) = options.auth {
        control.log_in(name, password)?;
    }
    let users = control.users;
    if !control.session_mut().is_authenticated(users) {
        return Err(CommandError::text(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH \
             <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the \
             same time",
        )
        .into());
    }
    if let Some(name) = options.name {
        control.sessions.rename(control.slot, name);
    }
    let server = control.server;
    let session = control.session_mut();
    session.protocol = protocol.unwrap_or(session.protocol);
    reply.speak(session.protocol);
    let version = if session.protocol == Protocol::Resp3 { 3 } else { 2 };
    reply.map(6 + usize::from(server.role.is_some()));
    field(reply, "server", "redis");
    field(reply, "version", server.release);
    reply.bulk(b"proto");
    reply.integer(version);
    reply.bulk(b"id");
    reply.integer(session.id as i64);
    field(reply, "mode", server.mode);
    server.role.into_iter().for_each(|role| field(reply, "role", role));
    reply.bulk(b"modules");
    reply.array(0);
    // A client without push messages is not notified of the end of its waits.
    Ok(if protocol == Some(Protocol::Resp2) { LoginEffect::EndTickets } else { LoginEffect::None })
}

fn asked_protocol(args: Args<'_>) -> Result<Option<Protocol>, CommandError> {
    let Some(version) = args.get(1) else { return Ok(None) };
    match number::parse_i64(version) {
        None => Err(CommandError::text("ERR Protocol version is not an integer or out of range")),
        Some(2) => Ok(Some(Protocol::Resp2)),
        Some(3) => Ok(Some(Protocol::Resp3)),
        Some(_) => Err(CommandError::text("NOPROTO unsupported protocol version")),
    }
}

fn field(reply: &mut dyn Reply, name: &str, value: &str) {
    reply.bulk(name.as_bytes());
    reply.bulk(value.as_bytes());
}

#[derive(Default)]
struct HelloOptions<'a> {
    auth: Option<(&'a [u8], &'a [u8])>,
    name: Option<&'a [u8]>,
}

impl<'a> HelloOptions<'a> {
    fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let mut options = HelloOptions::default();
        let mut at = 2;
        while at < args.len() {
            let rest = args.from(at + 1);
            if args.is(at, "auth") && rest.len() >= 2 {
                options.auth = Some((rest[0], rest[1]));
                at += 3;
            } else if args.is(at, "setname") && !rest.is_empty() {
                check_client_name(rest[0])?;
                options.name = Some(rest[0]);
                at += 2;
            } else {
                let mut text = b"ERR Syntax error in HELLO option '".to_vec();
                text.extend(quotable(args.from(at)[0]));
                text.push(b'\'');
                return Err(CommandError::new(text));
            }
        }
        Ok(options)
    }
}

fn echo(args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.bulk(&args[1]);
    Ok(())
}

fn ping(session: &mut Session, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.len() > 2 {
        return Err(CommandError::arity("ping"));
    }
    let message = args.get(1);
    if session.is_subscribed() && reply.protocol() == Protocol::Resp2 {
        reply.array(2);
        reply.bulk(b"pong");
        reply.bulk(message.unwrap_or_default());
    } else {
        match message {
            Some(message) => reply.bulk(message),
            None => reply.status(b"PONG"),
        }
    }
    Ok(())
}

fn quit(session: &mut Session, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    session.close(Closing::AfterOutput);
    reply.ok();
    Ok(())
}

fn check_reset(session: &Session) -> Outcome {
    match session.is_replica {
        true => Err(CommandError::text("ERR can only reset normal client connections")),
        false => Ok(()),
    }
}

fn select(session: &mut Session, config: &Config, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    session.db = config.selected(args)?;
    reply.ok();
    Ok(())
}
