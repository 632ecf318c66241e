//! The execution of a script or a function. The engine is the host that it calls.

use super::call::{Call, Origin};
use super::engine::{Engine, ScriptHandler};
use super::permit::{Caller, Denied, Reason, decide};
use crate::clients::Slot;
use crate::limits::call_lacks_room;
use crate::propagation::{Feed, Receivers};
use crate::replication::ReplicationView;
use crate::scripts::{ScriptRules, log_message};
use crate::spec::{self, Args, Command, CommandError, CommandId, Outcome};
use lockwheel_resp::Reply;
use lockwheel_scripting::{EntryKind, Host, Runtime};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const NEEDS_ALLOW_OOM: &str = "OOM allow-oom flag is not set on the script, can not run it when used memory > \
                               'maxmemory'";

const STALE: &str = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
const STALE_AND_NOT_ALLOWED: &str = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no' \
                                     and 'allow-stale' flag is not set on the script.";

/// Runs the script or function of a request, and replies. Returns an error, such as `BUSY` while another runs.
#[inline(never)]
pub(super) fn run(
    engine: &mut Engine,
    parse: ScriptHandler,
    call: Call<'_>,
    request: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    engine.show_script(call, request);
    let run = parse(&mut engine.scripts, engine.config.cluster.enabled, request)?;
    let (rules, kind) = (run.rules, run.kind());
    if engine.is_ruled_by_replication() && !engine.sessions.get(call.slot).is_master {
        check_in_replication(engine.replication(), rules)?;
    }
    if rules.declared && !rules.takes_any_memory && !rules.read_only && engine.limits.is_short_of_memory() {
        return Err(CommandError::text(NEEDS_ALLOW_OOM));
    }
    // Scripts of a transaction share its instant, but each is timed separately for slowness.
    let began = match call.origin() {
        Origin::Transaction => engine.environment.now(engine.clock()),
        _ => engine.clock().system(),
    };
    let inner = call.of_script(&run.inputs);
    let failed = with_runtime(engine, |engine, runtime| {
        engine.scripts.caller = Some(call.slot);
        let script = runtime.begin(run.id, began.monotonic_ms().unsigned_abs());
        let began_ns = engine.clock().reading_ns();
        let mut host = ScriptHost::new(engine, inner, request, kind, rules);
        script.run(run.inputs.keys, run.inputs.arguments, &mut host, reply);
        let errors = host.old_errors + u64::from(host.new_errors);
        if host.limited {
            Feed::limit(&mut engine.keyspace, None);
        }
        // The time ends with the last called command, since each begins where its predecessor ends.
        engine.observers.stats.nested_ns += engine.clock().reading_ns() - began_ns;
        errors
    })?;
    if failed > 0
        && let Some(command) = engine.commands.resolve(request)
    {
        engine.observers.stats.failed_late(command.id, failed);
    }
    // A SELECT in a script does not affect its client.
    engine.sessions.get_mut(call.slot).db = call.db;
    if call.origin() == Origin::Client {
        engine.advance_as_planned(call.slot);
    }
    Ok(())
}

/// Refuses a script that may write on a replica or with too few replicas, or that would read stale data.
#[cold]
fn check_in_replication(replication: ReplicationView<'_>, rules: ScriptRules) -> Outcome {
    let fails = |text| Err(CommandError::text(text));
    if replication.has_stale_data() && !rules.reads_stale {
        return fails(if rules.declared { STALE_AND_NOT_ALLOWED } else { STALE });
    }
    if !rules.declared || rules.read_only {
        return Ok(());
    }
    if replication.is_read_only() {
        return fails("READONLY Can not run script with write flag on readonly replica.");
    }
    if replication.lacks_replicas() {
        return fails("NOREPLICAS Not enough good replicas to write.");
    }
    Ok(())
}

/// Takes the runtime for `run` and puts it back even after a panic, so that a bug costs only the calling client.
fn with_runtime<T>(
    engine: &mut Engine,
    run: impl FnOnce(&mut Engine, &mut Runtime) -> T,
) -> Result<T, CommandError> {
    let mut runtime = engine.scripts.take()?;
    let ran = catch_unwind(AssertUnwindSafe(|| run(engine, &mut runtime)));
    engine.scripts.put_back(runtime);
    Ok(ran.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// A script that calls a command, for an authenticated client.
struct Script<'a> {
    engine: &'a Engine,
    slot: Slot,
    read_only: bool,
    restricted: bool,
    has_control: bool,
    /// Whether memory is short and the script has not written yet, so that it may not take memory.
    out_of_memory: bool,
}

impl Caller for Script<'_> {
    const ORIGIN: Origin = Origin::Script;

    #[inline(always)]
    fn denied(&self, command: &Command, args: Args<'_>) -> Option<Denied> {
        // If no user is restricted, as is common, the user does not matter.
        let session = self.engine.users().are_restricted().then(|| self.engine.sessions().get(self.slot))?;
        self.engine.users().denied(session.login, command, args)
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn is_restricted(&self) -> bool {
        self.restricted
    }

    fn has_control(&self) -> bool {
        self.has_control
    }

    fn refused_by_state(&self, command: &Command, args: Args<'_>) -> Option<Reason> {
        let refused = self.engine.refused_by_state(self.engine.sessions().get(self.slot), command, args);
        refused.or_else(|| call_lacks_room(command, args).then_some(Reason::NoMemory))
    }

    fn is_out_of_memory(&self, command: &Command, _: Args<'_>) -> bool {
        self.out_of_memory && command.has(spec::Flags::DENYOOM)
    }
}

struct ScriptHost<'a> {
    engine: &'a mut Engine,
    call: Call<'a>,
    request: Args<'a>,
    kind: EntryKind,
    rules: ScriptRules,
    /// Whether the script has called a write command, and can no longer be stopped for lack of memory.
    has_written: bool,
    /// Whether the script's last call was refused.
    refused: bool,
    /// Whether the script has limited the receivers of its changes.
    limited: bool,
    /// The slot of the script's keys, in a cluster.
    slot: Option<u16>,
    /// Whether the script's reply has errors that no command returned, and the number of other errors.
    new_errors: bool,
    old_errors: u64,
}

impl<'a> ScriptHost<'a> {
    fn new(
        engine: &'a mut Engine,
        call: Call<'a>,
        request: Args<'a>,
        kind: EntryKind,
        rules: ScriptRules,
    ) -> Self {
        let (new_errors, old_errors) = (false, 0);
        let is_bound = engine.config.cluster.enabled && !rules.crosses_slots;
        let router = engine.router().filter(|_| is_bound);
        let session = engine.sessions.get(call.slot).id;
        let slot = router.and_then(|router| router.slot_of_request(session, request));
        let (has_written, refused, limited) = (false, false, false);
        ScriptHost {
            engine,
            call,
            request,
            kind,
            rules,
            has_written,
            refused,
            limited,
            slot,
            new_errors,
            old_errors,
        }
    }
}

impl ScriptHost<'_> {
    /// Returns the reason why a cluster node refuses a command that the script calls.
    #[cold]
    fn refused_in_cluster(&mut self, id: CommandId, args: Args<'_>) -> Option<&'static str> {
        let slot = (!self.rules.crosses_slots).then_some(&mut self.slot);
        let session = self.engine.sessions.get(self.call.slot).id;
        self.engine.router()?.deny_call(session, self.engine.commands.get(id), args, slot)
    }
}

impl Host for ScriptHost<'_> {
    fn call(&mut self, argv: &[&[u8]], reply: &mut dyn Reply) {
        let args = Args::new(argv);
        let restricted = self.engine.switches.restricts_scripts;
        let has_control = self.engine.config.control;
        let (engine, slot) = (&*self.engine, self.call.slot);
        let out_of_memory =
            engine.limits.is_short_of_memory() && !self.rules.takes_any_memory && !self.has_written;
        let read_only = self.rules.read_only;
        let script = Script { engine, slot, read_only, restricted, has_control, out_of_memory };
        let (id, writes) = match decide(&script, &self.engine.commands, args) {
            Ok(command) => (command.id, command.has(spec::Flags::WRITE)),
            Err(refusal) => {
                self.refused = !refusal.is_found_by_command(&self.engine.commands);
                return self.engine.refuse_call(self.call.slot, refusal, args, reply);
            }
        };
        self.refused = false;
        if self.engine.config.cluster.enabled
            && let Some(error) = self.refused_in_cluster(id, args)
        {
            self.engine.observers.stats.rejected(Some(id), error.as_bytes());
            return reply.error(error.as_bytes());
        }
        if writes && !self.engine.scripts.control().mark_write() {
            // SCRIPT KILL is answered: the script ends as soon as this returns, whatever the reply.
            return reply.null();
        }
        self.has_written |= writes;
        // The previous call may have been SELECT.
        self.call.db = self.engine.sessions().get(self.call.slot).db;
        let is_cause = self.engine.faults().sees_messages();
        if is_cause {
            self.engine.rule_judge().begin_inner_cause(self.call.slot, id, args);
        }
        if self.engine.keyspace.is_propagation_due() {
            let now = self.engine.clock.now();
            Feed::begin_command(&mut self.engine.keyspace, self.engine.commands.get(id), now);
        }
        self.engine.run(self.call, id, args, reply);
        self.engine.deliver_messages();
        if is_cause {
            self.engine.rule_judge().end_cause();
        }
    }

    fn limit_changes(&mut self, to_file: bool, to_replicas: bool) {
        let receivers = Receivers { replicas: to_replicas, file: to_file };
        self.limited |= receivers != Receivers::ALL;
        Feed::limit(&mut self.engine.keyspace, Some(receivers));
    }

    fn was_refused(&mut self) -> bool {
        self.refused
    }

    fn log(&mut self, level: u8, message: &[u8]) {
        log_message(level, message);
    }

    fn on_slow(&mut self) {
        if self.kind == EntryKind::Function {
            self.engine.scripts.show(self.request);
        }
        let now_ms = self.engine.environment.now(self.engine.clock()).monotonic_ms().unsigned_abs();
        if let Some(command) = self.engine.commands.resolve(self.request) {
            let threshold_ms = self.engine.config.busy_reply_threshold;
            self.engine.scripts.log_if_slow((now_ms, threshold_ms), command.spec.name, self.request);
        }
        if let Some(host) = self.engine.environment.host.clone() {
            host.serve_while_slow(self.engine);
            let no_touch = self.engine.sessions().get(self.call.slot).no_touch;
            self.engine.keyspace.ignore_accesses(no_touch);
        }
    }

    fn clock_us(&self) -> u64 {
        self.engine.environment.now(self.engine.clock()).monotonic_us
    }

    fn answered_error(&mut self, text: &[u8], is_new: bool, times: u64) {
        if is_new {
            self.new_errors = true;
            self.engine.observers.stats.answered_errors(text, times);
        } else {
            self.old_errors += times;
        }
    }

    fn may_run(&mut self, argv: &[&[u8]]) -> Option<bool> {
        let args = Args::new(argv);
        let command = self.engine.commands.resolve(args)?;
        // A container alone is not a command, unless nothing follows it.
        let known = command.subcommands.is_empty() || argv.len() == 1;
        let denied =
            || self.engine.users().denied(self.engine.sessions().get(self.call.slot).login, command, args);
        known.then(|| denied().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Outbox, Peer};
    use crate::config::Config;
    use lockwheel_resp::{Protocol, Writer};
    use lockwheel_scripting::Flags;
    use lockwheel_store::keyspace::ScriptInputs;
    use lockwheel_store::time::Now;

    #[test]
    fn a_killed_script_does_not_write_even_if_it_notices_late() {
        let at = Now { wall_us: 0, monotonic_us: 0 };
        let mut engine = Engine::new(Config::default(), 7, at);
        engine.begin(at);
        let slot = engine.connect(Peer::default());
        let inputs = ScriptInputs::new(&[], &[]);
        let call = Call::by(engine.sessions().get(slot)).of_script(&inputs);
        let mut set = |killed: bool| {
            let mut runtime = engine.scripts.take().unwrap();
            let id = runtime.intern(b"return 1").unwrap();
            let script = runtime.begin(id, 0);
            if killed {
                assert_eq!(engine.scripts.control().kill(EntryKind::Script), Ok(()));
            }
            let engine = &mut engine;
            let rules = ScriptRules::of(Flags::default(), false);
            let mut host = ScriptHost::new(engine, call, Args::new(&[b"EVAL"]), EntryKind::Script, rules);
            let mut out = Vec::new();
            host.call(&[b"set", b"k", b"v"], &mut Writer::new(&mut out, Protocol::Resp2));
            drop(script);
            engine.scripts.put_back(runtime);
            let mut keys = Outbox::default();
            engine.execute(slot, &[b"EXISTS", b"k"]);
            engine.take_output(slot, &mut keys);
            keys.bytes().to_vec()
        };
        assert_eq!(set(true), b":0\r\n");
        assert_eq!(set(false), b":1\r\n");
    }
}
