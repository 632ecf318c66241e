//! A request's way through the engine: the checks in Redis' order, then the handler, then what it caused.

use super::engine::{Call, Engine, Handler, Origin};
use super::progress::Progress;
use crate::clients::{Closing, Request, Slot};
use crate::keyspace::Actor;
use crate::spec::{
    Args, BlockingOutcome, Command, CommandError, CommandId, Flow, Wait, errors, flags, quotable,
};
use lockwheel_resp::{Protocol, Reply, Writer};
use std::sync::Arc;

/// Bytes of a reply that takes long to write.
const LONG_REPLY: usize = 128 * 1024;

/// A command that is not done yet: what it waits for, and what its handler took so far in nanoseconds.
pub(crate) struct Parked {
    pub(super) wait: Box<Wait>,
    pub(super) took_ns: u64,
}

/// Why a request is refused before its handler sees it.
pub(crate) type Refusal = CommandError;

impl Engine {
    /// Runs one request of a session and all it causes. `argv` is not empty.
    pub fn execute(&mut self, slot: Slot, argv: &[&[u8]]) -> Progress {
        if self.keyspace.has_expiry_backlog() {
            self.fire_named(slot, argv);
        }
        let args = Args::new(argv);
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            return Progress::Stop;
        }
        session.last_seen = self.time.system;
        let (protocol, muted) = (session.protocol, session.replies.are_muted());
        // The buffer is away while the command writes to it; what the command causes for its own session comes after.
        let mut out = session.begin_reply();
        let before = out.len();
        let mut writer = Writer::new(&mut out, protocol);
        if muted {
            writer.mute(true);
        }
        let progress = self.dispatch(slot, args, &mut writer);
        writer.mute(false);
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            out = Vec::new();
            session.drop_output();
        }
        if out.len().saturating_sub(before) > LONG_REPLY {
            self.time.grow_stale();
        }
        session.end_reply(out);
        if progress != Progress::Blocked {
            session.replies.next_request();
        }
        if !session.keeps_up() {
            self.check_much_output(slot);
        }
        self.commit();
        match progress {
            Progress::Continue if self.sessions.get(slot).closing.is_some() => Progress::Stop,
            other => other,
        }
    }

    fn dispatch(&mut self, slot: Slot, args: Args<'_>, reply: &mut dyn Reply) -> Progress {
        let command = match self.admit(slot, args) {
            Ok(command) => command,
            Err(refusal) => {
                self.refuse(slot, args, &refusal, reply);
                return Progress::Continue;
            }
        };
        let session = self.sessions.get_mut(slot);
        if let Some(multi) = &mut session.multi
            && !self.table.get(command).has(flags::UNQUEUED)
        {
            multi.queue.push((command, Request::new(args.all())));
            reply.status(b"QUEUED");
            return Progress::Continue;
        }
        session.last_command = Some(command);
        match self.run_by(None, Call { slot, origin: Origin::Client }, command, args, reply) {
            None if self.stop.is_some() => Progress::Stop,
            None => Progress::Continue,
            Some(parked) => {
                self.block(slot, command, Request::new(args.all()), parked);
                Progress::Blocked
            }
        }
    }

    /// Answers a request that has not passed the checks. An open transaction will not run without it; an EXEC that is
    /// refused itself discards the transaction.
    #[cold]
    fn refuse(&mut self, slot: Slot, args: Args<'_>, refusal: &Refusal, reply: &mut dyn Reply) {
        // A subcommand that does not exist is nobody's.
        let is_whole = |command: &&Arc<Command>| command.subcommands.is_empty() || args.len() == 1;
        let command = self.table.resolve(args).filter(is_whole).map(|command| command.id);
        if command.is_none() && is_cross_protocol(&args[0]) {
            return self.sessions.get_mut(slot).close(Closing::Now);
        }
        if args.is(0, "exec") {
            self.sessions.get_mut(slot).multi = None;
            self.unwatch(slot);
            let reason = refusal.as_bytes();
            let reason = reason.strip_prefix(b"ERR ").unwrap_or(reason);
            let text = [b"EXECABORT Transaction discarded because of: ", reason].concat();
            self.stats.rejected(command, &text);
            return reply.error(&text);
        }
        self.stats.rejected(command, refusal.as_bytes());
        if let Some(multi) = &mut self.sessions.get_mut(slot).multi {
            multi.aborted = true;
        }
        reply.error(refusal.as_bytes());
    }

    /// The checks before a command runs or is queued, in Redis' order.
    fn admit(&self, slot: Slot, args: Args<'_>) -> Result<CommandId, Refusal> {
        let session = self.sessions.get(slot);
        let command = self.table.resolve(args).ok_or_else(|| unknown_command(args))?;
        if !command.subcommands.is_empty() && args.len() > 1 {
            return Err(unknown_subcommand(args));
        }
        if !command.spec.accepts(args.len()) {
            return Err(CommandError::arity(&command.name));
        }
        if !session.authenticated && !command.has(flags::NO_AUTH) {
            return Err(CommandError::text("NOAUTH Authentication required."));
        }
        if session.multi.is_some() && command.has(flags::NO_MULTI) {
            return Err(CommandError::text("ERR Command not allowed inside a transaction"));
        }
        if !self.config.control && command.spec.categories.contains(&"control") {
            return Err(unknown_command(args));
        }
        if session.subscriptions() > 0
            && session.protocol == Protocol::Resp2
            && !command.has(flags::WHILE_SUBSCRIBED)
        {
            return Err(CommandError::new(format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
                 this context",
                command.name
            )));
        }
        // The interpreter is away only while a script runs; this request came in from within it.
        if self.scripts.is_running() && !command.has(flags::ALLOW_BUSY) {
            return Err(errors::BUSY);
        }
        Ok(command.id)
    }

    /// Runs a command that has passed the checks. Comes back with what it waits for, when it is not done and may wait.
    pub(crate) fn run(
        &mut self,
        call: Call,
        command: CommandId,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Option<Parked> {
        self.run_by(None, call, command, args, reply)
    }

    /// The same, of a script with these keys and arguments. Made a part of each of its callers: to hand over so many
    /// arguments would take some thirty instructions a command.
    #[inline(always)]
    pub(crate) fn run_by(
        &mut self,
        script: Option<&[&[u8]]>,
        call: Call,
        command: CommandId,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Option<Parked> {
        let began_ns = self.time.reading_ns();
        let outcome = match self.handlers[command.index()] {
            Some(handler) => self.invoke(script, call, handler, args, reply),
            None => Err(self.subcommand_missing(command)),
        };
        if self.keyspace.has_overdue() {
            self.keyspace.expire_overdue(self.time.now, self.time.clock.over());
        }
        // After its handler, as Redis does: INFO does not tell of itself, and CONFIG RESETSTAT counts.
        let took_ns = self.lap(began_ns);
        self.stats.called(command, took_ns);
        match outcome {
            Ok(None) => {}
            Ok(Some(wait)) => return Some(Parked { wait, took_ns }),
            Err(error) => self.fail(command, &error, reply),
        }
        if self.slow_log.wants(took_ns) {
            self.log_slow(call, command, args, took_ns);
        }
        None
    }

    /// A container was called by itself.
    #[cold]
    fn subcommand_missing(&self, command: CommandId) -> CommandError {
        CommandError::arity(&self.table.get(command).name)
    }

    /// Answers a command whose handler gave an error.
    #[cold]
    fn fail(&mut self, command: CommandId, error: &CommandError, reply: &mut dyn Reply) {
        self.stats.failed(command, error.as_bytes());
        reply.error(error.as_bytes());
    }

    /// Calls a handler. Comes back with what it waits for, when it may wait.
    #[inline(always)]
    fn invoke(
        &mut self,
        script: Option<&[&[u8]]>,
        call: Call,
        handler: Handler,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<Option<Box<Wait>>, CommandError> {
        let done = match handler {
            Handler::Data(run) => {
                let db = self.sessions.get(call.slot).db;
                let actor = Actor { command: args.all(), script };
                run(&mut self.keyspace.tx(db, self.time.now).by(actor), args, reply)
            }
            Handler::Session(run) => {
                let session = self.sessions.get_mut(call.slot);
                let mut tx = self.keyspace.tx(session.db, self.time.now);
                run(&mut tx, session, args, reply)
            }
            Handler::Engine(run) => run(self, call, args, reply),
            Handler::BlockingData(run) => {
                let db = self.sessions.get(call.slot).db;
                let actor = Actor { command: args.all(), script };
                let outcome = run(&mut self.keyspace.tx(db, self.time.now).by(actor), args, reply);
                return may_wait(call, outcome, reply);
            }
            Handler::BlockingEngine(run) => {
                let outcome = run(self, call, args, reply);
                return may_wait(call, outcome, reply);
            }
        };
        done.map(|()| None)
    }
}

impl Engine {
    /// A request of the session was refused without the engine; an open transaction must not run without it.
    pub fn refuse_transaction(&mut self, slot: Slot) {
        if let Some(multi) = &mut self.sessions.get_mut(slot).multi {
            multi.aborted = true;
        }
    }
}

/// What a command waits for that is not done; a script or a transaction never waits, and is answered a null instead.
#[inline(never)]
fn may_wait(
    call: Call,
    outcome: BlockingOutcome,
    reply: &mut dyn Reply,
) -> Result<Option<Box<Wait>>, CommandError> {
    match outcome? {
        Flow::Done => Ok(None),
        Flow::NotYet(wait) if call.origin == Origin::Client => Ok(Some(Box::new(wait))),
        Flow::NotYet(wait) => {
            wait.null_at_once.write(reply);
            Ok(None)
        }
    }
}

/// The first words of an HTTP request that a web page may have been tricked into sending.
fn is_cross_protocol(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:")
}

/// `unknown command`, with the beginning of its arguments, as Redis quotes them.
pub(crate) fn unknown_command(args: Args<'_>) -> CommandError {
    const SHOWN: usize = 128;
    let name = quotable(&args[0]);
    let mut text = b"ERR unknown command '".to_vec();
    text.extend(&name[..name.len().min(SHOWN)]);
    text.extend(b"', with args beginning with: ");
    let mut shown = 0;
    for arg in args.from(1) {
        if shown >= SHOWN {
            break;
        }
        let arg = quotable(arg);
        let arg = &arg[..arg.len().min(SHOWN - shown)];
        text.push(b'\'');
        text.extend(arg);
        text.extend(b"' ");
        shown += arg.len() + 3;
    }
    CommandError::new(text)
}

/// `unknown subcommand`, as Redis quotes it.
pub(crate) fn unknown_subcommand(args: Args<'_>) -> CommandError {
    let mut text = b"ERR unknown subcommand '".to_vec();
    let word = quotable(&args[1]);
    text.extend(&word[..word.len().min(128)]);
    text.extend(b"'. Try ");
    text.extend(args[0].to_ascii_uppercase());
    text.extend(b" HELP.");
    CommandError::new(text)
}
