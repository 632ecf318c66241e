//! The decision whether a request is run: for clients, transactions and scripts, also while a script is slow.
//!
//! The checks and their order are those of Redis' `processCommand` and of its scripts. The error texts depend on the
//! origin. [`permit`] also checks a user's keys and channels.

use super::call::Origin;
use super::loading::LOADING;
pub use crate::acl::Denied;
pub use crate::cluster::Redirect;
use crate::persistence::append_only::NOT_APPENDED;
use crate::scripts::busy_error;
use crate::spec::{Args, Command, CommandError, CommandId, CommandTable, Flags, Version, errors};
use crate::spec::{similar_command, unknown_command, unknown_subcommand, wrong_arity};
use lockwheel_scripting::EntryKind;

/// The caller's properties that decide about a request, asked only where they matter. By default, all is permitted.
pub trait Caller {
    /// The origin of the caller's requests.
    const ORIGIN: Origin;

    /// Whether the client has authenticated, or need not.
    fn is_authenticated(&self) -> bool {
        true
    }

    /// Returns the reason why the user may not make this request.
    fn denied(&self, _: &Command, _: Args<'_>) -> Option<Denied> {
        None
    }

    /// Returns the redirection if another cluster node must run the request.
    fn redirect(&self, _: &Command, _: Args<'_>) -> Option<Redirect> {
        None
    }

    /// Whether the caller is a script that may not write.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Whether the caller is a script, to which some commands are forbidden.
    fn is_restricted(&self) -> bool {
        true
    }

    /// Whether the client is between MULTI and EXEC.
    fn is_in_transaction(&self) -> bool {
        false
    }

    /// Whether the server offers control commands.
    fn has_control(&self) -> bool {
        true
    }

    /// Whether there is too little memory for this request.
    fn is_out_of_memory(&self, _: &Command, _: Args<'_>) -> bool {
        false
    }

    /// Returns the reason why the state of the server forbids this request: a failed save, or replication.
    fn refused_by_state(&self, _: &Command, _: Args<'_>) -> Option<Reason> {
        None
    }

    /// Whether the client is subscribed and speaks RESP2, so that only few replies can be told from messages.
    fn is_subscribed(&self) -> bool {
        false
    }

    /// Whether the data are being loaded by another caller.
    fn is_kept_waiting(&self) -> bool {
        false
    }

    /// Whether the caller is a monitor.
    fn is_monitor(&self) -> bool {
        false
    }

    /// Returns the kind of the slow script or function, if there is one.
    fn busy(&self) -> Option<EntryKind> {
        None
    }
}

/// Returns the command that a request runs. O(1).
///
/// # Errors
/// Returns a refusal if the request must not run.
#[inline(always)]
pub fn decide<'t, C: Caller>(
    caller: &C,
    table: &'t CommandTable,
    args: Args<'_>,
) -> Result<&'t Command, Refusal> {
    let refused = |reason, command| Err(Refusal { origin: C::ORIGIN, reason, command });
    let Some(command) = table.resolve(args) else { return refused(Reason::UnknownCommand, None) };
    if !command.subcommands.is_empty() && args.len() > 1 {
        return refused(Reason::UnknownSubcommand, None);
    }
    if !command.spec.accepts(args.len()) {
        return refused(Reason::Arity, Some(command.id));
    }
    permit(caller, command, args)?;
    Ok(command)
}

/// Checks that the caller may make a request of a command, or returns the refusal.
#[inline(always)]
pub fn permit<C: Caller>(caller: &C, command: &Command, args: Args<'_>) -> Result<(), Refusal> {
    let refused = |reason| Err(Refusal { origin: C::ORIGIN, reason, command: Some(command.id) });
    if !caller.is_authenticated() && !command.has(Flags::NO_AUTH) {
        return refused(Reason::NotAuthenticated);
    }
    if C::ORIGIN == Origin::Script && command.has(Flags::NOSCRIPT) && caller.is_restricted() {
        return refused(Reason::NotFromScripts);
    }
    if caller.is_in_transaction() && command.has(Flags::NO_MULTI) {
        return refused(Reason::InTransaction);
    }
    if !caller.has_control() && command.has(Flags::CONTROL) {
        return refused(Reason::NoControl);
    }
    if let Some(denied) = caller.denied(command, args) {
        return refused(Reason::Denied(denied));
    }
    if let Some(redirect) = caller.redirect(command, args) {
        return refused(Reason::Redirected(redirect));
    }
    if caller.is_read_only() && command.spec.flags.intersects(EFFECTS) {
        return refused(Reason::ReadOnlyScript);
    }
    if caller.is_out_of_memory(command, args) {
        return refused(Reason::OutOfMemory);
    }
    if let Some(reason) = caller.refused_by_state(command, args) {
        return refused(reason);
    }
    if caller.is_subscribed() && !command.has(Flags::WHILE_SUBSCRIBED) {
        return refused(Reason::Subscribed);
    }
    if caller.is_kept_waiting() && !command.has(Flags::LOADING) {
        return refused(Reason::Loading);
    }
    if let Some(kind) = caller.busy()
        && !command.has(Flags::ALLOW_BUSY)
    {
        return refused(Reason::Busy(kind));
    }
    if caller.is_monitor() && command.spec.flags.intersects(ON_KEYS) {
        return refused(Reason::Monitor);
    }
    Ok(())
}

/// Returns the error for a request that its user may not make, of the command `name`.
fn denied_error(denied: Denied, origin: Origin, name: &str) -> CommandError {
    let text = match (origin, denied) {
        (Origin::Client, Denied::Command) => {
            let text = format!("NOPERM this user has no permissions to run the '{name}' command");
            return CommandError::new(text);
        }
        (Origin::Client, Denied::Key(_)) => {
            "NOPERM this user has no permissions to access one of the keys used as arguments"
        }
        (Origin::Client, Denied::Channel(_)) => {
            "NOPERM this user has no permissions to access one of the channels used as arguments"
        }
        (Origin::Transaction, denied) => return denied_in_transaction(denied),
        (Origin::Script, Denied::Command) => {
            "ERR The user executing the script can't run this command or subcommand"
        }
        (Origin::Script, Denied::Key(_)) => {
            "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments"
        }
        (Origin::Script, Denied::Channel(_)) => {
            "ERR The user executing the script can't publish to the channel mentioned in the command"
        }
    };
    CommandError::text(text)
}

fn denied_in_transaction(denied: Denied) -> CommandError {
    let why = match denied {
        Denied::Command => "no permission to execute the command or subcommand",
        Denied::Key(_) => "no permission to touch the specified keys",
        Denied::Channel(_) => "no permission to access one of the channels used as arguments to the command",
    };
    CommandError::new(format!(
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This \
         command is no longer allowed for the following reason: {why}"
    ))
}

/// Returns a script's error as before 7.0, without the position that preceded it.
#[cold]
fn script_error_before_7(error: &CommandError) -> CommandError {
    let text = String::from_utf8_lossy(error.as_bytes());
    CommandError::new(match text.strip_prefix("ERR ") {
        Some("Unknown Redis command called from script") => {
            "Unknown Redis command called from Lua script".to_owned()
        }
        Some("Wrong number of args calling Redis command from script") => {
            "Wrong number of args calling Redis command From Lua script".to_owned()
        }
        Some("This Redis command is not allowed from script") => {
            "This Redis command is not allowed from scripts".to_owned()
        }
        Some(text) => text.to_owned(),
        // Errors with their own code kept it, as on the wire.
        None => format!("-{text}"),
    })
}

const NOT_SAVED: &str = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to \
                         disk. Commands that may modify the data set are disabled, because this instance is \
                         configured to report errors during writes if RDB snapshotting fails \
                         (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB \
                         error.";

/// The flags that a read-only script may not use.
const EFFECTS: Flags = Flags::of(&[Flags::WRITE, Flags::MAY_REPLICATE]);

/// The flags that a monitor may not use. In Redis, a monitor is a kind of replica.
const ON_KEYS: Flags = Flags::of(&[EFFECTS, Flags::READONLY]);

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The command does not exist.
    UnknownCommand,
    /// The container has no such subcommand.
    UnknownSubcommand,
    /// The number of arguments is wrong.
    Arity,
    /// The client has not authenticated.
    NotAuthenticated,
    /// Scripts may not call the command.
    NotFromScripts,
    /// The script may not write.
    ReadOnlyScript,
    /// The command cannot be queued.
    InTransaction,
    /// The server offers no control commands.
    NoControl,
    /// The user may not make the request.
    Denied(Denied),
    /// Another node of the cluster, or none, runs the request.
    Redirected(Redirect),
    /// Memory exceeds `maxmemory`.
    OutOfMemory,
    /// There is no memory for the arguments.
    NoMemory,
    /// The last save has failed.
    NotSaved,
    /// The append-only file cannot be written. The engine adds the reason, which only it knows.
    NotAppended,
    /// The server is a read-only replica.
    ReadOnlyReplica,
    /// There are fewer replicas than writes need.
    NotEnoughReplicas,
    /// The server is a replica without a link to its master, and does not serve stale data.
    MasterDown,
    /// The client is subscribed, and speaks RESP2.
    Subscribed,
    /// The data are being loaded.
    Loading,
    /// A script or a function is slow.
    Busy(EntryKind),
    /// The client is a monitor.
    Monitor,
}

/// A refused request.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    pub(super) origin: Origin,
    /// The reason.
    pub reason: Reason,
    /// The command that the request names.
    pub command: Option<CommandId>,
}

impl Refusal {
    /// Returns the error for the caller.
    #[cold]
    pub fn error(self, table: &CommandTable, args: Args<'_>) -> CommandError {
        if self.origin != Origin::Script || table.version() != Version::V6_2 {
            return self.newest_error(table, args);
        }
        let name = self.command.map_or("", |command| &table.get(command).name);
        match self.reason {
            Reason::UnknownSubcommand => unknown_subcommand(table.version(), args),
            Reason::Arity if name.contains('|') => wrong_arity(table.version(), name, args),
            _ => script_error_before_7(&self.newest_error(table, args)),
        }
    }

    /// Returns Redis' error for an unknown command, with the nearest of our own commands if `has_control`.
    #[cold]
    pub(super) fn unknown_command(
        self,
        table: &CommandTable,
        args: Args<'_>,
        has_control: bool,
    ) -> CommandError {
        let is_known = |command: &Command| has_control || !command.has(Flags::CONTROL);
        let similar = similar_command(table, &args[0], is_known);
        CommandError::new([self.error(table, args).as_bytes(), similar.trim_start().as_bytes()].concat())
    }

    /// Whether, before 7.0, the command itself detected the error.
    pub(crate) fn is_found_by_command(self, table: &CommandTable) -> bool {
        let of_subcommand = |command| table.get(command).name.contains('|');
        let is_arity = self.reason == Reason::Arity && self.command.is_some_and(of_subcommand);
        is_arity || self.reason == Reason::UnknownSubcommand
    }

    fn newest_error(self, table: &CommandTable, args: Args<'_>) -> CommandError {
        let name = self.command.map_or("", |command| &table.get(command).name);
        let text = match (self.reason, self.origin) {
            (Reason::UnknownCommand | Reason::UnknownSubcommand | Reason::NoControl, Origin::Script) => {
                "ERR Unknown Redis command called from script"
            }
            (Reason::Arity, Origin::Script) => "ERR Wrong number of args calling Redis command from script",
            (Reason::UnknownCommand | Reason::NoControl, _) => return unknown_command(table.version(), args),
            (Reason::UnknownSubcommand, _) => return unknown_subcommand(table.version(), args),
            (Reason::Arity, _) => return wrong_arity(table.version(), name, args),
            (Reason::NotAuthenticated, _) => "NOAUTH Authentication required.",
            (Reason::NotFromScripts, _) => "ERR This Redis command is not allowed from script",
            (Reason::ReadOnlyScript, _) => "ERR Write commands are not allowed from read-only scripts.",
            (Reason::InTransaction, _) => "ERR Command not allowed inside a transaction",
            (Reason::OutOfMemory, _) => "OOM command not allowed when used memory > 'maxmemory'.",
            (Reason::NoMemory, _) => return errors::INSUFFICIENT_MEMORY,
            (Reason::NotSaved, _) => NOT_SAVED,
            (Reason::NotAppended, _) => NOT_APPENDED,
            (Reason::ReadOnlyReplica, _) => "READONLY You can't write against a read only replica.",
            (Reason::NotEnoughReplicas, _) => "NOREPLICAS Not enough good replicas to write.",
            (Reason::MasterDown, Origin::Script) => "ERR Can not execute the command on a stale replica",
            (Reason::MasterDown, _) => {
                "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
            }
            (Reason::Subscribed, _) => {
                return CommandError::new(format!(
                    "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
                     allowed in this context"
                ));
            }
            (Reason::Monitor, _) => "ERR Replica can't interact with the keyspace",
            (Reason::Loading, _) => return LOADING,
            (Reason::Busy(kind), _) => return busy_error(kind),
            // The engine adds the address, which only it knows.
            (Reason::Redirected(redirect), _) => return CommandError::new(redirect.text(|_| String::new())),
            (Reason::Denied(denied), origin) => return denied_error(denied, origin, name),
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

    /// A client to which the last reasons for a refusal apply, as many as this number.
    struct Client(usize);

    impl Caller for Client {
        const ORIGIN: Origin = Origin::Client;

        fn is_authenticated(&self) -> bool {
            self.0 < 5
        }

        fn is_in_transaction(&self) -> bool {
            self.0 >= 4
        }

        fn has_control(&self) -> bool {
            self.0 < 3
        }

        fn is_subscribed(&self) -> bool {
            self.0 >= 2
        }

        fn busy(&self) -> Option<EntryKind> {
            (self.0 >= 1).then_some(EntryKind::Script)
        }
    }

    /// A script; the flag says whether it is read-only.
    struct Script(bool);

    impl Caller for Script {
        const ORIGIN: Origin = Origin::Script;

        fn is_read_only(&self) -> bool {
            self.0
        }
    }

    fn answer(caller: &impl Caller, request: &str) -> String {
        let mut registration = Registration::default();
        registration.add(ROWS, |handler| handler);
        let (table, _) = registration.finish(&[]).expect("nothing is renamed");
        let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        let args = Args::new(&argv);
        match decide(caller, &table, args) {
            Ok(_) => "ok".to_owned(),
            Err(refusal) => String::from_utf8_lossy(refusal.error(&table, args).as_bytes()).into_owned(),
        }
    }

    #[test]
    fn a_refusal_is_worded_for_the_origin_of_the_request() {
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
            assert_eq!(answer(&Client(0), request), to_client, "{request}");
            assert_eq!(answer(&Script(false), request), to_script, "{request}");
        }
    }

    #[test]
    fn the_first_of_several_reasons_is_reported() {
        let told = [
            "BUSY ",
            "ERR Can't execute 'bound': only (P|S)SUBSCRIBE",
            "ERR unknown command 'bound', with args beginning with: ",
            "ERR Command not allowed inside a transaction",
            "NOAUTH Authentication required.",
        ];
        for (reasons, told) in (1..).zip(told) {
            let answer = answer(&Client(reasons), "bound");
            assert!(answer.starts_with(told), "{reasons}: {answer}");
        }
        assert_eq!(answer(&Client(5), "free"), "ok");
    }

    #[test]
    fn a_read_only_script_has_no_effects() {
        for request in ["write", "publish"] {
            let refused = "ERR Write commands are not allowed from read-only scripts.";
            assert_eq!(answer(&Script(true), request), refused, "{request}");
        }
        assert_eq!(answer(&Script(true), "bound"), "ERR This Redis command is not allowed from script");
        assert_eq!(answer(&Script(true), "plain"), "ok");
    }
}
