//! Which requests are run: the one decision for a client, for a transaction, for a script, and for clients while a
//! script is slow.
//!
//! A request must name a command, have the right number of arguments, and be permitted to who makes it; the checks and
//! their order are those of Redis' `processCommand` and of its scripts. What is permitted is a matter of the caller's
//! state and the command's flags, so that the usual answer takes one comparison. Rules that need more than flags (what
//! a user may do with which keys) belong into [`Caller::permit`].

use super::call::Origin;
use crate::clients::User;
use crate::spec::{
    Args, Command, CommandError, CommandId, CommandTable, Flags, errors, unknown_command, unknown_subcommand,
};

/// Who makes a request, as far as it decides what is run.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    origin: Origin,
    /// The flags that are looked at.
    looked_at: Flags,
    /// Those of them that a command must have; it must have none of the others.
    required: Flags,
}

impl Caller {
    #[inline]
    fn new(origin: Origin, user: Option<User>) -> Self {
        let anyone = Caller { origin, looked_at: Flags::empty(), required: Flags::empty() };
        anyone.require(user.is_none(), Flags::NO_AUTH)
    }

    /// A client that acts as this user, or has not authenticated.
    #[inline]
    pub fn client(user: Option<User>) -> Self {
        Caller::new(Origin::Client, user)
    }

    /// An EXEC of a client that acts as this user by now.
    #[inline]
    pub fn transaction(user: Option<User>) -> Self {
        Caller::new(Origin::Transaction, user)
    }

    /// A script that runs for this user, and may write or not.
    #[inline]
    pub fn script(user: Option<User>, read_only: bool) -> Self {
        Caller::new(Origin::Script, user)
            .refuse(true, Flags::NOSCRIPT)
            .refuse(read_only, Flags::WRITE.union(Flags::MAY_REPLICATE))
    }

    /// A client between MULTI and EXEC, if so.
    #[inline]
    pub fn in_transaction(self, is: bool) -> Self {
        self.refuse(is, Flags::NO_MULTI)
    }

    /// A client of a server that has no commands to control it by, if so.
    #[inline]
    pub fn without_control(self, is: bool) -> Self {
        self.refuse(is, Flags::CONTROL)
    }

    /// A client that is subscribed and speaks RESP2, if so: it can tell messages from replies to few commands only.
    #[inline]
    pub fn subscribed(self, is: bool) -> Self {
        self.require(is, Flags::WHILE_SUBSCRIBED)
    }

    /// A client that is served while a script is slow, if so.
    #[inline]
    pub fn while_busy(self, is: bool) -> Self {
        self.require(is, Flags::ALLOW_BUSY)
    }

    #[inline]
    fn refuse(mut self, is: bool, flags: Flags) -> Self {
        if is {
            self.looked_at = self.looked_at.union(flags);
        }
        self
    }

    #[inline]
    fn require(mut self, is: bool, flags: Flags) -> Self {
        if is {
            self.looked_at = self.looked_at.union(flags);
            self.required = self.required.union(flags);
        }
        self
    }

    /// The command that a request of the caller runs. O(1).
    ///
    /// # Errors
    /// Why none is run.
    #[inline(always)]
    pub fn decide<'t>(self, table: &'t CommandTable, args: Args<'_>) -> Result<&'t Command, Refusal> {
        let refused = |reason, command| Refusal { origin: self.origin, reason, command };
        let command = table.resolve(args).ok_or(refused(Reason::UnknownCommand, None))?;
        if !command.subcommands.is_empty() && args.len() > 1 {
            return Err(refused(Reason::UnknownSubcommand, None));
        }
        if !command.spec.accepts(args.len()) {
            return Err(refused(Reason::Arity, Some(command.id)));
        }
        self.permit(command)?;
        Ok(command)
    }

    /// Whether the caller may run a command.
    ///
    /// # Errors
    /// Why not.
    #[inline]
    pub fn permit(self, command: &Command) -> Result<(), Refusal> {
        match command.spec.flags.intersection(self.looked_at) == self.required {
            true => Ok(()),
            false => Err(self.refusal(command)),
        }
    }

    /// The first of the reasons not to run a command, in their order.
    #[cold]
    #[inline(never)]
    fn refusal(self, command: &Command) -> Refusal {
        let differs = self.looked_at.intersection(command.spec.flags).symmetric_difference(self.required);
        let first = REASONS.iter().find(|(flags, _)| flags.intersects(differs));
        let (_, reason) = *first.expect("no other flags are looked at");
        Refusal { origin: self.origin, reason, command: Some(command.id) }
    }
}

/// What is wrong when a command has these flags, or lacks them, in the order of the checks.
const REASONS: [(Flags, Reason); 7] = [
    (Flags::NO_AUTH, Reason::NotAuthenticated),
    (Flags::NOSCRIPT, Reason::NotFromScripts),
    (Flags::WRITE.union(Flags::MAY_REPLICATE), Reason::ReadOnlyScript),
    (Flags::NO_MULTI, Reason::InTransaction),
    (Flags::CONTROL, Reason::NoControl),
    (Flags::WHILE_SUBSCRIBED, Reason::Subscribed),
    (Flags::ALLOW_BUSY, Reason::Busy),
];

/// Why a request is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no such command.
    UnknownCommand,
    /// The container has no such subcommand.
    UnknownSubcommand,
    /// The number of arguments is wrong.
    Arity,
    /// The client has not authenticated.
    NotAuthenticated,
    /// No script may call it.
    NotFromScripts,
    /// The script may not write.
    ReadOnlyScript,
    /// It cannot be queued.
    InTransaction,
    /// The server has no commands to control it by.
    NoControl,
    /// The client is subscribed, and speaks RESP2.
    Subscribed,
    /// A script is slow.
    Busy,
}

/// A request that is not run.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    origin: Origin,
    /// Why.
    pub reason: Reason,
    /// The command that it names.
    pub command: Option<CommandId>,
}

impl Refusal {
    /// What the caller is answered.
    #[cold]
    pub fn error(self, table: &CommandTable, args: Args<'_>) -> CommandError {
        let name = self.command.map_or("", |command| &table.get(command).name);
        let text = match (self.reason, self.origin) {
            (Reason::UnknownCommand | Reason::UnknownSubcommand, Origin::Script) => {
                "ERR Unknown Redis command called from script"
            }
            (Reason::Arity, Origin::Script) => "ERR Wrong number of args calling Redis command from script",
            (Reason::UnknownCommand | Reason::NoControl, _) => return unknown_command(args),
            (Reason::UnknownSubcommand, _) => return unknown_subcommand(args),
            (Reason::Arity, _) => return CommandError::arity(name),
            (Reason::NotAuthenticated, _) => "NOAUTH Authentication required.",
            (Reason::NotFromScripts, _) => "ERR This Redis command is not allowed from script",
            (Reason::ReadOnlyScript, _) => "ERR Write commands are not allowed from read-only scripts.",
            (Reason::InTransaction, _) => "ERR Command not allowed inside a transaction",
            (Reason::Subscribed, _) => {
                return CommandError::new(format!(
                    "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
                     allowed in this context"
                ));
            }
            (Reason::Busy, _) => return errors::BUSY,
        };
        CommandError::text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Registration, Row};

    const ROWS: &[&[Row<()>]] = &[&[
        Row::new("plain", 1, ()),
        Row::new("write", 1, ()).flags(&[Flags::WRITE]),
        Row::new("publish", 1, ()).flags(&[Flags::MAY_REPLICATE]),
        Row::new("free", 1, ()).flags(&[Flags::NO_AUTH, Flags::WHILE_SUBSCRIBED, Flags::ALLOW_BUSY]),
        Row::new("bound", 1, ()).flags(&[Flags::NOSCRIPT, Flags::WRITE, Flags::NO_MULTI, Flags::CONTROL]),
        Row::container("box", -2, &[Row::new("open", 3, ())]),
    ]];

    /// The answer to a request: `ok`, or the error.
    fn answer(caller: Caller, request: &str) -> String {
        let mut registration = Registration::default();
        registration.add(ROWS, |handler| handler);
        let (table, _) = registration.finish(&[]).expect("nothing is renamed");
        let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        let args = Args::new(&argv);
        match caller.decide(&table, args) {
            Ok(_) => "ok".to_owned(),
            Err(refusal) => String::from_utf8_lossy(refusal.error(&table, args).as_bytes()).into_owned(),
        }
    }

    const CLIENT: fn() -> Caller = || Caller::client(Some(User::Default));

    #[test]
    fn what_is_wrong_with_a_request_is_told_in_the_words_for_its_origin() {
        let script = Caller::script(Some(User::Default), false);
        for (request, to_client, to_script) in [
            ("PLAIN", "ok", "ok"),
            (
                "nothing a b",
                "ERR unknown command 'nothing', with args beginning with: 'a' 'b' ",
                "ERR Unknown Redis command called from script",
            ),
            (
                "box shut",
                "ERR unknown subcommand 'shut'. Try BOX HELP.",
                "ERR Unknown Redis command called from script",
            ),
            (
                "box",
                "ERR wrong number of arguments for 'box' command",
                "ERR Wrong number of args calling Redis command from script",
            ),
            (
                "box open",
                "ERR wrong number of arguments for 'box|open' command",
                "ERR Wrong number of args calling Redis command from script",
            ),
            ("box open it", "ok", "ok"),
            ("write", "ok", "ok"),
            ("bound", "ok", "ERR This Redis command is not allowed from script"),
        ] {
            assert_eq!(answer(CLIENT(), request), to_client, "{request}");
            assert_eq!(answer(script, request), to_script, "{request}");
        }
    }

    #[test]
    fn of_several_reasons_the_first_is_told() {
        let everything = |user| {
            Caller::client(user).in_transaction(true).without_control(true).subscribed(true).while_busy(true)
        };
        let who = Some(User::Default);
        assert_eq!(answer(everything(None), "bound"), "NOAUTH Authentication required.");
        assert_eq!(answer(everything(who), "bound"), "ERR Command not allowed inside a transaction");
        let outside = CLIENT().without_control(true).subscribed(true).while_busy(true);
        assert!(answer(outside, "bound").starts_with("ERR unknown command 'bound'"));
        let subscribed = CLIENT().subscribed(true).while_busy(true);
        assert!(answer(subscribed, "bound").starts_with("ERR Can't execute 'bound': only (P|S)SUBSCRIBE"));
        assert!(answer(CLIENT().while_busy(true), "bound").starts_with("BUSY "));
        assert_eq!(answer(everything(None), "free"), "ok");
    }

    #[test]
    fn a_script_that_may_not_write_has_no_effects_at_all() {
        let script = Caller::script(Some(User::Default), true);
        for request in ["write", "publish"] {
            let refused = "ERR Write commands are not allowed from read-only scripts.";
            assert_eq!(answer(script, request), refused, "{request}");
        }
        assert_eq!(answer(script, "bound"), "ERR This Redis command is not allowed from script");
        assert_eq!(answer(script, "plain"), "ok");
    }

    #[test]
    fn a_transaction_runs_what_its_user_may() {
        assert_eq!(answer(Caller::transaction(Some(User::Default)), "bound"), "ok");
        assert_eq!(answer(Caller::transaction(None), "plain"), "NOAUTH Authentication required.");
        assert_eq!(answer(Caller::transaction(None), "free"), "ok");
    }
}
