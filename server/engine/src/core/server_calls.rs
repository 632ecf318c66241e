//! Calls of handlers for the server as a whole, and their effects.

use super::call::{Call, Origin};
use super::dispatch::end_or_wait;
use super::engine::{ConfigControl, DebugControl, DebugEffect, DebugHandler, Engine, ServerHandler};
use super::hosted::HostedControl;
use super::loading::reload;
use super::progress::Stop;
use super::replication::deliver_propagated;
use super::saving::NotSaved;
use super::server_views::{AppendOnlyView, InfoView, MemoryView};
use crate::clients::Closing;
use crate::member::Broadcast;
use crate::spec::{Args, CommandError, Outcome, Wait};
use crate::waits::Retry;
use lockwheel_resp::Reply;

/// The error of DEBUG LOADAOF; the log has the reason.
const NOT_LOADED: CommandError =
    CommandError::text("ERR Error trying to load the AOF files, check server logs.");

impl Engine {
    /// Calls a handler for the server as a whole, and follows. Its wait goes into `waits`.
    #[cold]
    #[inline(never)]
    pub(super) fn run_on_server(
        &mut self,
        handler: &ServerHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
        waits: &mut Option<Box<Wait<Retry>>>,
    ) -> Outcome {
        deliver_propagated(self);
        match *handler {
            ServerHandler::Info(write) => {
                self.look_at_memory();
                let sentinel = self.with_sentinel(|sentinel| sentinel.info_lines());
                write(&InfoView::of(self, sentinel), args, reply);
            }
            ServerHandler::Memory(write) => {
                self.look_at_memory();
                write(&MemoryView::of(self), reply);
            }
            ServerHandler::Process(run) => run(&self.environment.identity.process, args, reply)?,
            ServerHandler::SetConfig(set) => {
                set_config(self, set, call, args)?;
                reply.ok();
            }
            ServerHandler::ConfigFile(run) => run(self.config_file(), reply)?,
            ServerHandler::Hosted(run) => {
                let (keyspace, member, now) = (&mut self.keyspace, &mut self.member, self.clock.now());
                let host = self.environment.host.as_deref();
                HostedControl { keyspace, member, host, now }.run(run, call, args, reply)?;
            }
            ServerHandler::HistoryOfAll(check) => {
                check(args)?;
                let flow = match self.readings.is_busy() {
                    true => Retry::of_reading(&mut self.readings, call.session),
                    false => Retry::of_broadcast(self.member.broadcast(call.session, Broadcast::History)),
                };
                end_or_wait(call, flow, reply, waits)?;
            }
            ServerHandler::Debug(run) => self.debug(run, call, args, reply)?,
            ServerHandler::Reset(check) => {
                let others = check(args)?;
                self.reset(Some(call.slot), others);
                reply.ok();
            }
        }
        Ok(())
    }

    /// Calls a handler of DEBUG, and does what it asks for. Fails if the handler does, or a file cannot be written.
    fn debug(&mut self, run: DebugHandler, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
        let mut control = DebugControl {
            db: call.db,
            is_local: self.sessions.get(call.slot).peer.is_local(),
            used_bytes: self.memory_parts().usage().total(),
            config: &self.config,
            commands: &self.commands,
            environment: &self.environment,
            clock: &self.clock,
            keyspace: &mut self.keyspace,
            scripts: &mut self.scripts,
            saves: &mut self.persistence,
            is_loading: self.loading.is_some(),
            has_append_only: self.append_only.has_files(),
            switches: &mut self.switches,
        };
        match run(&mut control, args, reply)? {
            DebugEffect::None => return Ok(()),
            DebugEffect::Crash(crash) => {
                let session = self.sessions.get_mut(call.slot);
                session.delivery.cut();
                session.close(Closing::Now);
                self.stop = Some(Stop::Crash(crash));
                return Ok(());
            }
            DebugEffect::SaveThen(run) => {
                self.save().map_err(|NotSaved| CommandError::text("ERR"))?;
                return self.debug(run, call, args, reply);
            }
            DebugEffect::LoadAppendOnly => reload(self).map_err(|why| {
                why.lines().for_each(|line| tracing::warn!("{line}"));
                NOT_LOADED
            })?,
            DebugEffect::Sleep { us } => {
                self.clock.sleep(us);
                Stop::sleep(&mut self.stop, us);
            }
            DebugEffect::DelayFlushes { us } => {
                self.change_append_only(|control| control.delay_flushes(us));
            }
            DebugEffect::RewriteConfig => {
                let file = self.config_file();
                if !file.is_named() || file.rewrite(true).is_err() {
                    return Err(CommandError::text("ERR CONFIG-REWRITE-FORCE-ALL failed"));
                }
            }
            DebugEffect::ChangeHistoryId => self.change_replication(|control| control.change_history_id()),
            DebugEffect::ForgetTrackedKeys => self.tracking().forget_keys(),
        }
        reply.ok();
        Ok(())
    }
}

/// Changes parameters, and all parts that follow them. If the handler or a part fails, nothing has changed.
fn set_config(
    engine: &mut Engine,
    set: fn(ConfigControl<'_>, Args<'_>) -> Outcome,
    call: Call<'_>,
    args: Args<'_>,
) -> Outcome {
    let before = engine.config.clone();
    let is_local = engine.sessions.get(call.slot).peer.is_local();
    let (host, is_loading) = (engine.environment.host.clone(), engine.loading.is_some());
    set(ConfigControl { config: &mut engine.config, host: host.as_deref(), is_local, is_loading }, args)?;
    let is_in_transaction = call.origin() == Origin::Transaction;
    // A file that is on is kept once the data are there.
    let followed = match is_loading {
        true => None,
        false => {
            engine.change_append_only(|control| control.configure(&before.append_only, is_in_transaction))
        }
    };
    if let Some(Err(error)) = followed {
        if let (Some(host), Some(changes)) = (host, engine.config.host_changes(&before)) {
            // The host had these until now. If it cannot have them again, it logs the reason.
            let _restored = host.follow(&before, changes);
        }
        engine.config = before;
        return Err(error);
    }
    engine.apply_config(&before);
    if engine.config.shown_port() != before.shown_port() {
        engine.environment.identity.process.port = engine.config.shown_port();
    }
    Ok(())
}

impl<'e> MemoryView<'e> {
    fn of(engine: &'e Engine) -> Self {
        let log = engine.environment.host.as_deref().and_then(|host| host.append_log());
        MemoryView {
            parts: engine.memory_parts(),
            process: &engine.environment.identity.process,
            append_only: AppendOnlyView { file: &engine.append_only, log },
        }
    }
}

impl<'e> InfoView<'e> {
    /// Returns the view of an engine, with the fields of its sentinel.
    fn of(engine: &'e Engine, sentinel: Option<Vec<(String, String)>>) -> Self {
        InfoView {
            config: &engine.config,
            identity: &engine.environment.identity,
            clock: &engine.clock,
            clients: engine.client_list(),
            state: engine.state_view(),
            memory: MemoryView::of(engine),
            persistence: &engine.persistence,
            loading: engine.loading.as_ref(),
            observers: &engine.observers,
            pubsub: &engine.pubsub,
            replication: engine.replication(),
            shuts_down_in_ms: engine.shutdown.ends_in_ms(engine.clock.system().monotonic_ms()),
            sentinel,
        }
    }
}
