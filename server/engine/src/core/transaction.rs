//! EXEC: runs the commands queued since MULTI.

use super::call::{Call, Origin};
use super::engine::Engine;
use super::permit::{Caller, Denied, permit};
use crate::clients::{Multi, Request, RunningTransaction, Session, Slot};
use crate::limits::check_room_for;
use crate::propagation::Feed;
use crate::spec::{Args, Command, CommandError, CommandId, Flags, Outcome};
use lockwheel_resp::{Protocol, Reply, Writer};
use lockwheel_store::keyspace::Watched;

const NO_MEMORY: &str = "EXECABORT Transaction discarded because of: OOM Insufficient memory";

/// Runs the transaction that a client has queued. Fails if there is none, or it is discarded.
#[inline(never)]
pub(super) fn exec(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let session = engine.sessions.get_mut(call.slot);
    let Some(multi) = session.multi.take() else { return Err(CommandError::text("ERR EXEC without MULTI")) };
    session.running = Some(RunningTransaction {
        commands: multi.queue().len(),
        memory: multi.memory(),
        exec_bytes: args.all().iter().map(|arg| arg.len()).sum(),
    });
    let outcome = run_transaction(engine, call, &multi, reply);
    engine.sessions.get_mut(call.slot).running = None;
    outcome
}

/// Runs the queued commands, unless a watched key has changed or the transaction must not run.
fn run_transaction(engine: &mut Engine, call: Call<'_>, multi: &Multi, reply: &mut dyn Reply) -> Outcome {
    let session = engine.sessions().get(call.slot);
    let broken = session.watch_broken;
    let watched = engine.sessions.get_mut(call.slot).unwatch(&mut engine.keyspace);
    if multi.aborted {
        return Err(CommandError::text("EXECABORT Transaction discarded because of previous errors."));
    }
    if broken {
        reply.null_array();
        return Ok(());
    }
    if !engine.sessions().get(call.slot).is_master && check_room_for(multi).is_err() {
        return Err(CommandError::text(NO_MEMORY));
    }
    if multi.has_preconditions {
        check_preconditions(engine, call.slot, multi)?;
    }
    reply.array(multi.queue().len());
    for (at, (command, request)) in multi.queue().iter().enumerate() {
        let (command, argv) = (*command, request.argv());
        let args = Args::new(&argv);
        let is_cause = engine.faults().sees_messages();
        if is_cause {
            engine.rule_judge().begin_inner_cause(call.slot, command, args);
        }
        let noted_from = engine.config.lock_history.then(|| {
            engine.history().queued_call(call.slot, command, args);
            reply.written()
        });
        run_queued(engine, (call.slot, &watched), command, args, reply);
        if let Some(before) = noted_from {
            let answer = reply.written_since(before);
            engine.history().queued_answer(call.slot, command, args, answer);
        }
        engine.deliver_messages();
        if is_cause {
            engine.rule_judge().end_cause();
        }
        if engine.sessions.get(call.slot).closing.is_some() {
            run_unanswered(engine, (call.slot, &watched), &multi.queue()[at + 1..], reply.protocol());
            break;
        }
    }
    engine.advance_as_planned(call.slot);
    Ok(())
}

struct Transaction<'a> {
    engine: &'a Engine,
    session: &'a Session,
}

impl Caller for Transaction<'_> {
    const ORIGIN: Origin = Origin::Transaction;

    fn is_authenticated(&self) -> bool {
        self.session.is_authenticated(self.engine.users())
    }

    fn denied(&self, command: &Command, args: Args<'_>) -> Option<Denied> {
        self.engine.users().denied(self.session.login, command, args)
    }
}

/// Runs a queued request. Its permission is checked again, since the user may have changed.
fn run_queued(
    engine: &mut Engine,
    (slot, watched): (Slot, &Watched),
    command: CommandId,
    args: Args<'_>,
    reply: &mut dyn Reply,
) {
    let call = Call::by(engine.sessions().get(slot)).of_transaction(watched);
    let caller = Transaction { engine, session: engine.sessions().get(slot) };
    match permit(&caller, engine.commands.get(command), args) {
        Ok(()) if let Some(error) = engine.error_for_queued(slot, command, args) => reply.error(&error),
        Ok(()) => {
            let began_ns = engine.clock().reading_ns();
            if engine.keyspace.is_propagation_due() {
                Feed::begin_command(&mut engine.keyspace, engine.commands.get(command), engine.clock.now());
            }
            drop(engine.run(call, command, args, reply));
            engine.observers.stats.nested_ns += engine.clock().reading_ns() - began_ns;
        }
        Err(refusal) => engine.refuse_call(slot, refusal, args, reply),
    }
}

/// Runs the queued requests that must succeed before the transaction, and returns the first error. A request that may
/// not run at all is refused in its turn.
#[cold]
fn check_preconditions(engine: &mut Engine, slot: Slot, multi: &Multi) -> Outcome {
    let db = engine.sessions().get(slot).db;
    let checked = check_each_precondition(engine, slot, multi);
    engine.sessions.get_mut(slot).db = db;
    checked
}

/// Runs each precondition in the database selected by then, which stays selected.
fn check_each_precondition(engine: &mut Engine, slot: Slot, multi: &Multi) -> Outcome {
    for (command, request) in multi.queue() {
        let queued = engine.commands.get(*command);
        if !queued.has(Flags::PRECONDITION) {
            if queued.name == "select"
                && let Some(db) = will_select(engine, slot, queued, request)
            {
                engine.sessions.get_mut(slot).db = db;
            }
            continue;
        }
        let mut answer = Vec::new();
        let unwatched = Watched::default();
        let answered = &mut Writer::new(&mut answer, Protocol::Resp2);
        run_queued(engine, (slot, &unwatched), *command, Args::new(&request.argv()), answered);
        if let Some(error) = answer.strip_prefix(b"-") {
            let reason = error.trim_ascii_end();
            return Err(CommandError::new(
                [b"EXECABORT Transaction discarded because of: ", reason].concat(),
            ));
        }
    }
    Ok(())
}

/// Returns the database that a queued SELECT will select, if it may run.
fn will_select(engine: &Engine, slot: Slot, select: &Command, request: &Request) -> Option<usize> {
    let argv = request.argv();
    let args = Args::new(&argv);
    permit(&Transaction { engine, session: engine.sessions().get(slot) }, select, args).ok()?;
    engine.config.selected(args).ok()
}

/// Runs the rest of a transaction whose client has killed itself, without replies.
#[cold]
fn run_unanswered(
    engine: &mut Engine,
    of: (Slot, &Watched),
    rest: &[(CommandId, Request)],
    protocol: Protocol,
) {
    let mut unread = Vec::new();
    for (command, request) in rest {
        let reply = &mut Writer::new(&mut unread, protocol);
        run_queued(engine, of, *command, Args::new(&request.argv()), reply);
        unread.clear();
    }
}
