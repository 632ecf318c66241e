//! The execution of commands on clients.

use super::call::{Call, Origin};
use super::engine::Engine;
use super::part_handler::{Cancellation, ClientHandler, LoginHandler};
use super::replication::deliver_propagated;
use super::transaction;
use super::users::RefusedObject;
use crate::acl::Refused;
use crate::client_list::{ClientEffect, ClientList};
use crate::clients::{Closing, LoginControl, LoginEffect, LoginError, ServerFacts, Slot};
use crate::locks::HistoryCause;
use crate::spec::{Args, CommandError, Outcome};
use crate::waits::TicketEnd;
use lockwheel_resp::Reply;

const WRONG_PASSWORD: CommandError =
    CommandError::text("WRONGPASS invalid username-password pair or user is disabled.");

impl Engine {
    pub(crate) fn client_list(&self) -> ClientList<'_> {
        ClientList {
            sessions: &self.sessions,
            waits: &self.waits,
            commands: &self.commands,
            users: &self.users,
            keyspace: &self.keyspace,
            replication: &self.replication,
            following: self.following.as_ref(),
            cluster: self.cluster.as_deref(),
            faults: &self.faults,
            now: self.clock.now(),
            batch: self.batch,
        }
    }

    #[inline(never)]
    pub(super) fn run_on_client(
        &mut self,
        handler: &ClientHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        deliver_propagated(self);
        match *handler {
            ClientHandler::Subscriptions(run) => {
                self.change_subscriptions(call.slot, |its| run(its, args, reply))
            }
            ClientHandler::Tracking(run) => self.change_tracking(|tracking| {
                let session = tracking.session(call.slot);
                run(tracking, session, args, reply)
            }),
            ClientHandler::Watching(run) => {
                run(self.sessions.get_mut(call.slot), &mut self.keyspace, args, reply)
            }
            ClientHandler::Exec => transaction::exec(self, call, args, reply),
            ClientHandler::Naming(run) => run(&mut self.sessions, call.slot, args, reply),
            ClientHandler::Reset(check) => {
                debug_assert_eq!(call.origin(), Origin::Client, "RESET is never queued");
                check(self.sessions.get(call.slot))?;
                self.reset_client(call.slot, reply);
                Ok(())
            }
            ClientHandler::Monitor(check) => {
                check(call.origin())?;
                // A client that is a monitor already gets no reply.
                if self.set_monitor(call.slot, true) {
                    reply.ok();
                }
                Ok(())
            }
            ClientHandler::Login(run) => self.log_in(run, call, args, reply),
            ClientHandler::Cancel(run) => {
                let Cancellation { waiters, error } = run(&self.keyspace.tx(call.db, self.clock.now()), args);
                let cancelled =
                    waiters.into_iter().filter(|&id| self.cancel_wait(id, &error, HistoryCause::Unblocked));
                reply.integer(cancelled.count() as i64);
                Ok(())
            }
            ClientHandler::List(run) => {
                let effect = run(self.client_list(), call.slot, args, reply)?;
                self.apply_to_clients(effect, call.slot, reply);
                Ok(())
            }
        }
    }

    /// Calls a handler that logs its client in; a refusal is logged.
    fn log_in(
        &mut self,
        run: LoginHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let role = if self.replication().is_replica() { "replica" } else { "master" };
        let server = ServerFacts {
            release: self.config.compat.release(),
            mode: self.config.mode(),
            role: self.sentinel.is_none().then_some(role),
        };
        let (users, sessions, slot) = (&self.users, &mut self.sessions, call.slot);
        match run(LoginControl { users, sessions, slot, server }, args, reply) {
            Ok(LoginEffect::None) => Ok(()),
            Ok(LoginEffect::EndTickets) => {
                self.end_tickets(call.session, TicketEnd::GivenUp);
                Ok(())
            }
            Err(LoginError::WrongPassword { name }) => {
                let refused = RefusedObject { refused: Refused::Login, object: args[0].into(), user: name };
                self.log_refused(slot, Some(refused), Origin::Client);
                Err(WRONG_PASSWORD)
            }
            Err(LoginError::Request(error)) => Err(error),
        }
    }

    /// Resets a client to the state of a new connection.
    fn reset_client(&mut self, slot: Slot, reply: &mut dyn Reply) {
        let id = self.sessions.get(slot).id;
        self.sessions.get_mut(slot).unwatch(&mut self.keyspace);
        self.set_monitor(slot, false);
        self.change_tracking(|tracking| tracking.untrack(slot));
        self.change_subscriptions(slot, |its| its.end_all(HistoryCause::None));
        self.end_tickets(id, TicketEnd::GivenUp);
        self.cluster.iter_mut().for_each(|cluster| cluster.forget_client(id));
        self.sessions.rename(slot, b"");
        let login = self.users.first_login();
        let session = self.sessions.get_mut(slot);
        session.begin_anew(login);
        reply.speak(session.protocol);
        reply.mute(session.is_muted());
        reply.status(b"RESET");
    }

    fn apply_to_clients(&mut self, effect: ClientEffect, caller: Slot, reply: &mut dyn Reply) {
        match effect {
            ClientEffect::None => {}
            ClientEffect::Kill(slots) => {
                for slot in slots {
                    if slot == caller {
                        self.sessions.get_mut(slot).close(Closing::AfterOutput);
                    } else if !self.clock.note_killed(self.sessions.get(slot).id) {
                        self.cut_off(slot);
                    }
                }
            }
            ClientEffect::Unblock { client, with_error } => {
                let was_waiting = self.unblock_client(client, with_error);
                reply.integer(was_waiting.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::clients::{Outbox, Peer};
    use crate::config::Config;
    use crate::core::Engine;
    use lockwheel_store::time::Now;

    /// The sizes of a key's name and of a message, in bytes.
    const PARTS: [usize; 2] = [50_000, 100_000];

    #[test]
    fn the_memory_of_a_client_is_the_sum_of_its_parts() {
        let [name, message] = PARTS;
        let mut engine = Engine::new(Config::default(), 7, Now::default());
        let [publisher, first, second] = [(); 3].map(|()| engine.connect(Peer::default()));
        engine.execute(first, &[b"WATCH", &vec![b'k'; name]]);
        for slot in [first, second] {
            engine.execute(slot, &[b"SUBSCRIBE", b"channel"]);
        }
        engine.execute(publisher, &[b"PUBLISH", b"channel", &vec![b'x'; message]]);
        let total = |engine: &Engine| -> usize {
            let mut line = Vec::new();
            engine.client_list().describe(engine.sessions().get(first), &mut line);
            let line = String::from_utf8_lossy(&line).into_owned();
            let total = line.split_once("tot-mem=").expect("it is shown").1;
            total.split(' ').next().and_then(|total| total.parse().ok()).expect("it is a number")
        };
        assert!(total(&engine) > name + message, "{}", total(&engine));
        let mut taken = Outbox::default();
        engine.take_output(first, &mut taken);
        assert!(total(&engine) > name + message, "{}", total(&engine));
    }
}
