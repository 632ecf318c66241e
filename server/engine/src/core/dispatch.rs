//! The execution of a request: the checks in Redis' order, then the handler, then its effects.

use super::call::{Call, Origin};
use super::command_tx::CommandTx;
use super::cross_protocol::is_cross_protocol;
use super::engine::{Engine, Handler};
use super::history::RequestNotes;
use super::history_reading::HistoryReader;
use super::hooks::Hook;
use super::observe::CallEnd;
use super::permit::{Caller, Denied, Reason, Redirect, Refusal, decide};
use super::progress::Progress;
use super::users::RefusedObject;
use super::{script_run, versions};
use crate::clients::{Closing, OpenReply, Request, Session, Slot};
use crate::limits::{OutputEnd, lacks_room, takes_memory};
use crate::propagation::Feed;
use crate::replication::ReplicaLink;
use crate::spec::{Args, Command, CommandError, CommandId, Flags, Flow, Outcome, Wait, explained, help};
use crate::statistics::Stats;
use crate::tracking::HeldNews;
use crate::waits::{Retry, Undone};
use lockwheel_resp::{Protocol, Reply};
use lockwheel_scripting::EntryKind;

/// The size in bytes from which writing a reply takes long.
const LONG_REPLY: usize = 128 * 1024;

/// A command that must wait, with the nanoseconds that its handler took so far.
pub(crate) struct Unfinished {
    pub(super) wait: Box<Wait<Retry>>,
    pub(super) took_ns: u64,
}

impl Unfinished {
    /// Adds the request, which is kept until a retry.
    pub(super) fn undone(self, command: CommandId, args: Args<'_>) -> Undone {
        Undone { command, request: Request::new(args.all()), wait: self.wait, took_ns: self.took_ns }
    }

    /// Whether the client continues meanwhile, with a ticket.
    pub(super) fn by_ticket(&self) -> bool {
        matches!(&self.wait.retry, Retry::OnKeys(on) if on.by_ticket)
    }
}

pub(super) struct Client<'a> {
    pub(super) engine: &'a Engine,
    pub(super) session: &'a Session,
    /// Whether memory limits may be set; else they are not checked.
    pub(super) limited: bool,
}

impl Client<'_> {
    #[inline]
    fn lacks_memory(&self, command: &Command, args: Args<'_>) -> bool {
        if !self.engine.hooks.has(Hook::LargeInput) || self.session.is_master {
            return false;
        }
        let is_queued = self.session.multi.is_some() && !command.has(Flags::UNQUEUED);
        lacks_room(command, args, is_queued)
    }
}

impl Caller for Client<'_> {
    const ORIGIN: Origin = Origin::Client;

    fn is_authenticated(&self) -> bool {
        self.session.is_authenticated(&self.engine.users)
    }

    #[inline(always)]
    fn denied(&self, command: &Command, args: Args<'_>) -> Option<Denied> {
        self.engine.users.denied(self.session.login, command, args)
    }

    #[inline(always)]
    fn redirect(&self, command: &Command, args: Args<'_>) -> Option<Redirect> {
        let is_node = self.limited && self.engine.hooks.has(Hook::Cluster);
        if is_node { self.engine.router()?.redirect(self.session, command, args) } else { None }
    }

    fn is_in_transaction(&self) -> bool {
        self.session.multi.is_some()
    }

    fn has_control(&self) -> bool {
        self.engine.config.control
    }

    #[inline(always)]
    fn is_out_of_memory(&self, command: &Command, args: Args<'_>) -> bool {
        self.limited
            && self.engine.limits.is_short_of_memory()
            && !self.session.is_master
            && takes_memory((&self.engine.commands, &self.engine.scripts), self.session, command, args)
    }

    #[inline(always)]
    fn refused_by_state(&self, command: &Command, args: Args<'_>) -> Option<Reason> {
        if !self.limited {
            return None;
        }
        let refused = self.engine.refused_by_state(self.session, command, args);
        refused.or_else(|| self.lacks_memory(command, args).then_some(Reason::NoMemory))
    }

    fn is_subscribed(&self) -> bool {
        self.session.is_subscribed() && self.session.protocol == Protocol::Resp2
    }

    #[inline(always)]
    fn is_kept_waiting(&self) -> bool {
        self.limited && self.engine.hooks.has(Hook::Loading) && !self.session.is_master
    }

    fn is_monitor(&self) -> bool {
        self.session.is_monitor | self.session.is_replica
    }

    fn busy(&self) -> Option<EntryKind> {
        // Only a running script takes the runtime, so this request came in through its hook.
        let scripts = &self.engine.scripts;
        scripts.is_running().then(|| scripts.control().kind())
    }
}

impl Engine {
    /// Runs one request of a session and delivers all its effects. `argv` is not empty.
    pub fn execute(&mut self, slot: Slot, argv: &[&[u8]]) -> Progress {
        if self.hooks.are_on_requests() {
            return self.execute_hooked(slot, argv);
        }
        self.execute_as::<false>(slot, argv)
    }

    /// Runs one request with all request hooks.
    #[inline(never)]
    fn execute_hooked(&mut self, slot: Slot, argv: &[&[u8]]) -> Progress {
        if self.hooks.has(Hook::Backlog) {
            return self.execute_in_backlog(slot, argv);
        }
        self.execute_watched(slot, argv)
    }

    /// Runs one request while due keys have not all fired. Those that it names or its transaction watches expire first,
    /// and their waiters are served, in order of arrival. Their notifications follow the reply.
    #[cold]
    #[inline(never)]
    fn execute_in_backlog(&mut self, slot: Slot, argv: &[&[u8]]) -> Progress {
        let client = self.sessions.get(slot).id;
        let before = self.tracking().hold(Some(HeldNews { client, keys: Vec::new() }));
        if !self.hooks.has(Hook::Pause) {
            self.schedule().expire_named(slot, argv);
            self.commit();
        }
        let progress = self.execute_watched(slot, argv);
        if let Some(held) = self.tracking().hold(before) {
            held.keys.iter().for_each(|key| self.invalidate(&[held.client], key.as_deref()));
        }
        progress
    }

    /// Runs one request with the request hooks that do not depend on deadlines.
    #[inline(never)]
    fn execute_watched(&mut self, slot: Slot, argv: &[&[u8]]) -> Progress {
        if let Some(paused) = self.pause_request(slot, Args::new(argv), false) {
            return paused;
        }
        if self.hooks.has(Hook::Limits) {
            self.keep_limits();
        }
        let progress = match self.hooks.has(Hook::Rules) {
            true => self.execute_seen(slot, argv),
            false => self.execute_request(slot, argv),
        };
        if self.hooks.has(Hook::Caching) {
            self.end_caching(slot, Args::new(argv));
        }
        if self.hooks.has(Hook::Cluster)
            && self.sessions.is_connected(slot)
            && let Some(cluster) = self.cluster.as_deref_mut()
        {
            cluster.end_asking(self.sessions.get(slot), Args::new(argv));
        }
        progress
    }

    /// Runs one request without applying fault rules.
    #[inline(never)]
    pub(super) fn execute_request(&mut self, slot: Slot, argv: &[&[u8]]) -> Progress {
        self.execute_as::<true>(slot, argv)
    }

    /// Runs a request that rules have let through, and returns its open reply. Not inlined, unlike for most requests.
    #[inline(never)]
    pub(super) fn answer_seen(&mut self, slot: Slot, argv: &[&[u8]]) -> Option<(OpenReply, Progress)> {
        self.answer_request::<true>(slot, argv)
    }

    #[inline(always)]
    fn execute_as<const HOOKED: bool>(&mut self, slot: Slot, argv: &[&[u8]]) -> Progress {
        let Some((open, progress)) = self.answer_request::<HOOKED>(slot, argv) else {
            return Progress::Stop;
        };
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            session.delivery.cut_reply();
        } else if open.is_refused() {
            self.end_output(slot, OutputEnd::Refused);
            return Progress::Stop;
        } else {
            session.delivery.end(open, progress == Progress::Blocked);
        }
        if !session.keeps_up() {
            self.check_much_output(slot);
        }
        self.settle_request(slot, progress)
    }

    /// Returns the open reply of a request, unless its session is being closed. Only with `HOOKED` may history be on.
    #[inline(always)]
    fn answer_request<const HOOKED: bool>(
        &mut self,
        slot: Slot,
        argv: &[&[u8]],
    ) -> Option<(OpenReply, Progress)> {
        let args = Args::new(argv);
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            return None;
        }
        session.last_active = self.clock.now();
        self.clock.note_request(session.id);
        let protocol = session.protocol;
        let mut open = session.delivery.begin();
        // A closure would not be inlined.
        let mut writer = open.writer(protocol);
        let progress = self.dispatch::<HOOKED>(slot, args, &mut writer);
        writer.mute(false);
        if HOOKED && self.config.lock_history && progress != Progress::Blocked {
            self.history().answer(slot, args, open.bytes());
        }
        if open.len() > LONG_REPLY {
            self.clock.grow_stale();
        }
        Some((open, progress))
    }

    /// Delivers the effects of a request whose reply has ended.
    pub(super) fn finish_request(&mut self, slot: Slot, progress: Progress) -> Progress {
        if !self.sessions.get_mut(slot).keeps_up() {
            self.check_much_output(slot);
        }
        self.settle_request(slot, progress)
    }

    #[inline(always)]
    fn settle_request(&mut self, slot: Slot, progress: Progress) -> Progress {
        self.commit();
        match progress {
            Progress::Continue if self.sessions.get(slot).closing.is_some() => Progress::Stop,
            other => other,
        }
    }

    #[inline(always)]
    fn dispatch<const HOOKED: bool>(
        &mut self,
        slot: Slot,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Progress {
        let caller = Client { engine: self, session: self.sessions.get(slot), limited: HOOKED };
        let (command, flags) = match decide(&caller, &self.commands, args) {
            Ok(command) => (command.id, command.spec.flags),
            Err(refusal) => {
                if HOOKED && self.config.lock_history {
                    self.history().requests().refused_request(slot, refusal.command, args);
                }
                self.refuse(slot, args, refusal, reply);
                return Progress::Continue;
            }
        };
        if HOOKED && self.config.lock_history {
            let Engine { keyspace, sessions, commands, .. } = self;
            RequestNotes { keyspace, sessions, commands }.request_unless_queued(slot, (command, flags), args);
        }
        let session = self.sessions.get_mut(slot);
        if let Some(multi) = &mut session.multi
            && !flags.contains(Flags::UNQUEUED)
        {
            // As in Redis, a transaction that is sure to fail queues nothing: EXEC checks only earlier slots.
            if !session.watch_broken && !multi.aborted {
                multi.has_preconditions |= flags.contains(Flags::PRECONDITION);
                multi.push(command, Request::new(args.all()));
            }
            session.last_command = Some(command);
            reply.status(b"QUEUED");
            return Progress::Continue;
        }
        session.last_command = Some(command);
        self.keyspace.ignore_accesses(session.no_touch);
        let call = Call::by(session);
        match self.run(call, command, args, reply) {
            None if self.stop.is_some() => Progress::Stop,
            None => Progress::Continue,
            Some(parked) if !self.may_wait(call.db, command, (&parked, args), reply) => Progress::Continue,
            Some(parked) if parked.by_ticket() => {
                self.leave_waiting(slot, parked.undone(command, args), reply);
                Progress::Continue
            }
            Some(parked) => {
                self.block(slot, parked.undone(command, args));
                Progress::Blocked
            }
        }
    }

    #[cold]
    fn may_wait(
        &mut self,
        db: usize,
        command: CommandId,
        (parked, args): (&Unfinished, Args<'_>),
        reply: &mut dyn Reply,
    ) -> bool {
        match self.wait_control().check_foreign_cycles(db, &parked.wait.retry, args) {
            Ok(()) => true,
            Err(error) => {
                self.observers.stats.failed(command, error.as_bytes());
                reply.error(error.as_bytes());
                false
            }
        }
    }

    /// Refuses a request. An open transaction then fails as a whole; a refused EXEC discards it.
    #[cold]
    fn refuse(&mut self, slot: Slot, args: Args<'_>, refusal: Refusal, reply: &mut dyn Reply) {
        if refusal.command.is_none() && is_cross_protocol(&args[0]) {
            self.cross_protocol.log(self.clock.system().monotonic_ms());
            return self.sessions.get_mut(slot).close(Closing::Now);
        }
        self.sessions.get_mut(slot).last_command = refusal.command;
        let error = match refusal.reason {
            Reason::UnknownCommand => refusal.unknown_command(&self.commands, args, self.config.control),
            Reason::Redirected(redirect) if let Some(router) = self.router() => router.error(redirect),
            _ => refusal_error(self, refusal, args),
        };
        let refused = RefusedObject::of(refusal, args, (self.client_list(), slot));
        self.log_refused(slot, refused, refusal.origin);
        // A sentinel has no EXEC.
        let is_exec = refusal.command.is_some_and(|id| self.commands.get(id).spec.name == "exec");
        if is_exec && matches!(refusal.reason, Reason::Redirected(_)) {
            self.sessions.get_mut(slot).multi = None;
            self.sessions.get_mut(slot).unwatch(&mut self.keyspace);
        } else if is_exec {
            self.sessions.get_mut(slot).multi = None;
            self.sessions.get_mut(slot).unwatch(&mut self.keyspace);
            let reason = error.as_bytes();
            let reason = reason.strip_prefix(b"ERR ").unwrap_or(reason);
            let text = [b"EXECABORT Transaction discarded because of: ", reason].concat();
            self.observers.stats.rejected(refusal.command, &text);
            return reply.error(&text);
        }
        self.observers.stats.rejected(refusal.command, error.as_bytes());
        if let Some(multi) = &mut self.sessions.get_mut(slot).multi {
            multi.aborted = true;
        }
        reply.error(error.as_bytes());
    }

    /// Refuses a command that a script or a transaction may not run.
    #[cold]
    pub(crate) fn refuse_call(
        &mut self,
        slot: Slot,
        refusal: Refusal,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) {
        let error = refusal_error(self, refusal, args);
        let name = refusal.command.map_or("<unknown>", |command| &self.commands.get(command).name);
        note_stream_error(&mut self.following, &mut self.observers.stats, slot, (name, &error));
        let refused = RefusedObject::of(refusal, args, (self.client_list(), slot));
        self.log_refused(slot, refused, refusal.origin);
        self.observers.stats.rejected(refusal.command, error.as_bytes());
        reply.error(error.as_bytes());
    }

    /// Runs a command that has passed the checks. Returns its wait if it is not done and may wait. Inlined, since
    /// passing the arguments costs about 30 instructions.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        call: Call<'_>,
        command: CommandId,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Option<Unfinished> {
        let began_ns = self.clock.reading_ns();
        let mut waits = None;
        let outcome = match self.handlers[command] {
            Some(handler) => self.invoke(call, (command, handler), args, reply, &mut waits),
            None => help::answer(&self.commands, command, reply),
        };
        if self.keyspace.has_overdue() {
            // The command is propagated before the removals that it causes.
            propagate_command(self, (call.db, command), args);
            self.keyspace.expire_overdue(self.clock.now(), self.clock.usual_rule());
        }
        // As in Redis, a call is counted after the handler: INFO does not count itself, CONFIG RESETSTAT does.
        let took_ns = self.clock.lap(began_ns, self.environment.stopwatch_ns());
        self.observers.called(command, took_ns);
        if let Err(error) = outcome {
            self.fail_request(call.slot, command, &error, args, reply);
        }
        if self.keyspace.is_command_unpropagated() {
            propagate_command(self, (call.db, command), args);
        }
        if let Some(wait) = waits {
            self.observe_call((call, command, args), CallEnd::Waits { took_ns });
            return Some(Unfinished { wait, took_ns });
        }
        if self.observers.want_more(took_ns) {
            self.observe_call((call, command, args), CallEnd::Done { took_ns });
        }
        None
    }

    /// Replies with the error of a handler. Errors of our own commands get an explanation.
    #[cold]
    fn fail_request(
        &mut self,
        slot: Slot,
        command: CommandId,
        error: &CommandError,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) {
        let name = &self.commands.get(command).name;
        note_stream_error(&mut self.following, &mut self.observers.stats, slot, (name, error));
        let explained = explained(self.commands.get(command).spec, error, args);
        let error = explained.as_ref().unwrap_or(error);
        self.observers.stats.failed(command, error.as_bytes());
        reply.error(error.as_bytes());
    }

    /// Calls a handler. A handler that may wait puts its wait into `waits`.
    #[inline(always)]
    pub(super) fn invoke(
        &mut self,
        call: Call<'_>,
        (command, handler): (CommandId, Handler),
        args: Args<'_>,
        reply: &mut dyn Reply,
        waits: &mut Option<Box<Wait<Retry>>>,
    ) -> Outcome {
        match handler {
            Handler::Data(run) => {
                let actor = call.actor(args);
                let tx = self.keyspace.tx_by(&actor, call.db, self.clock.now());
                CommandTx::new(tx, &self.commands, command, args).run(|tx| run(tx, args, reply))
            }
            Handler::BlockingData(run) => {
                let actor = call.actor(args);
                let tx = self.keyspace.tx_by(&actor, call.db, self.clock.now());
                let flow =
                    CommandTx::new(tx, &self.commands, command, args).run(|tx| run(tx, args, reply))?;
                end_or_wait(call, flow, reply, waits)
            }
            Handler::ReadingAnyKey(run) => {
                let login = self.sessions.get(call.slot).login;
                let reads_all = self.users.may_read_all_keys(login, self.commands.get(command), args);
                let actor = call.actor(args);
                let tx = self.keyspace.tx_by(&actor, call.db, self.clock.now());
                CommandTx::new(tx, &self.commands, command, args).run(|tx| run(tx, reads_all, args, reply))
            }
            Handler::Listening(run) => {
                let actor = call.actor(args);
                let tx = self.keyspace.tx_by(&actor, call.db, self.clock.now());
                CommandTx::new(tx, &self.commands, command, args).run(|tx| run(tx, &self.pubsub, args, reply))
            }
            Handler::OfHistory(run) => {
                let (readings, keyspace) = (&mut self.readings, &mut self.keyspace);
                let reader = HistoryReader { readings, keyspace, now: self.clock.now() };
                end_or_wait(call, reader.read(run, call, args, reply)?, reply, waits)
            }
            Handler::Stateless(run) => run(args, reply),
            Handler::Session(run) => run(self.sessions.get_mut(call.slot), args, reply),
            Handler::ConfiguredSession(run) => {
                run(self.sessions.get_mut(call.slot), &self.config, args, reply)
            }
            Handler::Config(run) => run(&self.config, args, reply),
            Handler::Statistics(run) => {
                run(&mut self.observers.stats, &mut self.keyspace.counters, args, reply)
            }
            Handler::Commands(run) => run(&self.commands, args, reply),
            Handler::PubSub(run) => run(&self.pubsub, args, reply),
            Handler::Publish(audience) => self.run_publish(audience, call, args, reply),
            Handler::SlowLog(run) => run(&mut self.observers.slow_log, args, reply),
            Handler::Scripts(run) => run(&mut self.scripts, args, reply),
            Handler::Libraries(run) => self.run_on_libraries(run, call, args, reply),
            Handler::Script(parse) => script_run::run(self, parse, call, args, reply),
            Handler::Client(handler) => self.run_on_client(handler, call, args, reply),
            Handler::Part(handler) => self.run_on_part(handler, call, args, reply, waits),
            Handler::Server(handler) => self.run_on_server(handler, call, args, reply, waits),
            Handler::Clock(run) => {
                end_or_wait(call, self.run_on_clock(run, call, args, reply)?, reply, waits)
            }
            Handler::Versioned => versions::run_checked(self, call, args, reply, waits),
        }
    }
}

/// Propagates the changes of a command that has ended or begun to wait, and began in database `db`.
#[cold]
pub(super) fn propagate_command(engine: &mut Engine, (db, command): (usize, CommandId), args: Args<'_>) {
    let command = (db, &**engine.commands.get(command));
    Feed::end_command(&mut engine.keyspace, command, args, engine.clock.now());
}

/// Returns the error of a refusal that is no redirection.
fn refusal_error(engine: &Engine, refusal: Refusal, args: Args<'_>) -> CommandError {
    match refusal.reason {
        Reason::NotAppended => engine.append_only.write_error(),
        _ => refusal.error(&engine.commands, args),
    }
}

/// Logs and counts an error reply to a command of the master's stream.
fn note_stream_error(
    link: &mut Option<ReplicaLink>,
    stats: &mut Stats,
    slot: Slot,
    (command, error): (&str, &CommandError),
) {
    if link.as_mut().is_some_and(|link| link.note_error(slot, command, error.as_bytes())) {
        stats.unexpected_error_replies += 1;
    }
}

#[inline(always)]
pub(super) fn end_or_wait<R: Into<Retry>>(
    call: Call<'_>,
    flow: Flow<R>,
    reply: &mut dyn Reply,
    waits: &mut Option<Box<Wait<Retry>>>,
) -> Outcome {
    if let Flow::NotYet(wait) = flow {
        not_yet(call, *wait, reply, waits);
    }
    Ok(())
}

/// Records the wait of a command; a script or a transaction gets a null instead.
#[cold]
#[inline(never)]
pub(super) fn not_yet<R: Into<Retry>>(
    call: Call<'_>,
    wait: Wait<R>,
    reply: &mut dyn Reply,
    waits: &mut Option<Box<Wait<Retry>>>,
) {
    let Wait { retry, timeout_ms, real_time, null, null_at_once } = wait;
    if call.origin() == Origin::Client {
        *waits = Some(Box::new(Wait { retry: retry.into(), timeout_ms, real_time, null, null_at_once }));
    } else {
        null_at_once.write(reply);
    }
}
