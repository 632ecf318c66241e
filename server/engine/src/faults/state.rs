//! Everything that is kept of faults.

use super::causes::Causes;
use super::connections::Connections;
use super::group::Group;
use super::held::HeldClients;
use super::outage::Outage;
use super::partition::{Link, Partition};
use super::rules::Rules;
use super::step::{FaultEffect, FaultStep};
use crate::clients::{Closing, Session, Sessions, Slot};
use crate::spec::{Args, CommandError, CommandTable, Flags, no_such_command};

/// Rules, and what they and the test hold, cut and keep: each part owns its state.
#[derive(Debug)]
pub(crate) struct Faults {
    /// The rules.
    pub(crate) rules: Rules,
    /// The clients of which rules hold requests or replies.
    pub(crate) held: HeldClients,
    /// The connections that are not carried as they are.
    pub(crate) connections: Connections,
    /// The outage of the server.
    pub(crate) outage: Outage,
    /// The requests that run, while rules see messages.
    pub(super) causes: Causes,
    /// Whether a rule may still act on messages.
    sees_messages: bool,
}

impl Faults {
    /// No faults; draws will come from this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Faults {
            rules: Rules::new(seed),
            held: HeldClients::default(),
            connections: Connections::default(),
            outage: Outage::default(),
            causes: Causes::default(),
            sees_messages: false,
        }
    }

    /// Whether a rule may still act on messages.
    #[inline]
    pub(crate) fn sees_messages(&self) -> bool {
        self.sees_messages
    }

    /// Looks at the rules, since they have come, gone, or acted; returns whether one may still act.
    pub(crate) fn look_at_rules(&mut self) -> bool {
        let any_live = self.rules.any_live();
        self.sees_messages = any_live && self.rules.any_on_messages();
        any_live
    }

    /// Adds the rule of a request: its name and its words.
    ///
    /// # Errors
    /// Returns an error if the words are no rule, there is one of this name, or there are too many.
    pub(crate) fn add_rule(
        &mut self,
        commands: &CommandTable,
        args: Args<'_>,
        step: &mut FaultStep<'_>,
    ) -> Result<(), CommandError> {
        let resolve = |name: &[u8]| {
            let command = commands.find_full(name).ok_or_else(|| no_such_command(commands, name))?;
            match command.has(Flags::CONTROL) {
                true => Err(CommandError::new(format!(
                    "ERR rules do not see '{}', which steers a test",
                    command.name
                ))),
                false => Ok(command.name.clone()),
            }
        };
        self.rules.add(args, &resolve)?;
        step.add(FaultEffect::RulesChanged);
        Ok(())
    }

    /// Removes a rule; what it holds goes on. Returns whether there was one.
    pub(crate) fn remove_rule(&mut self, name: &[u8], step: &mut FaultStep<'_>) -> bool {
        let Some(rule) = self.rules.remove(name) else { return false };
        step.add(FaultEffect::RulesChanged);
        self.held.of(rule).into_iter().for_each(|client| step.add(FaultEffect::GoOn(client)));
        true
    }

    /// Lets everything that rules hold go on.
    pub(crate) fn let_all_go(&self, step: &mut FaultStep<'_>) {
        self.held.all().for_each(|client| step.add(FaultEffect::GoOn(client)));
    }

    /// Forgets a client that has gone.
    pub(crate) fn forget_client(&mut self, client: u64, step: &mut FaultStep<'_>) {
        self.held.take_orphan(client);
        self.connections.forget(client, step);
    }

    /// Forgets the causes of messages: a request has ended in a panic.
    pub(crate) fn forget_causes(&mut self) {
        self.causes.clear();
    }

    /// Whether a session is that of a client; a master's stream is none, nor is an orphan.
    pub(crate) fn is_client(&self, session: &Session) -> bool {
        let is_there = session.closing != Some(Closing::Now) && !session.is_master;
        is_there && !self.held.is_orphan(session.id)
    }

    /// Whether a client is connected; these sessions of other servers are none, nor is the one of a master's stream.
    pub(crate) fn has_clients(&self, sessions: &Sessions, links: &[Slot]) -> bool {
        let slots = sessions.slots().filter(|slot| !links.contains(slot));
        slots.map(|slot| sessions.get(slot)).any(|session| self.is_client(session))
    }

    /// Whether a session is sent nothing any more.
    #[inline]
    pub(crate) fn is_lost(&self, session: &Session) -> bool {
        self.connections.has_any() && self.connections.is_lost(session)
    }

    /// Disconnects all clients but the spared ones; requests of orphans do not arrive. A server that dies disconnects
    /// those too that are about to be closed.
    pub(crate) fn cut(
        &self,
        sessions: &Sessions,
        is_spared: impl Fn(&Session) -> bool,
        step: &mut FaultStep<'_>,
    ) {
        for session in sessions.slots().map(|slot| sessions.get(slot)) {
            let is_open = session.closing != Some(Closing::Now) || self.outage.is_dying();
            if self.held.is_orphan(session.id) {
                step.add(FaultEffect::DropOrphan(session.slot));
            } else if is_open && !is_spared(session) {
                step.add(FaultEffect::CutOff(session.slot));
            }
        }
    }

    /// Disconnects clients but this one, those that are exempt from faults, and the sessions of other servers.
    pub(crate) fn cut_clients(
        &self,
        sessions: &Sessions,
        (but, links): (u64, &[Slot]),
        step: &mut FaultStep<'_>,
    ) {
        self.clients_but(sessions, but, links)
            .for_each(|session| step.add(FaultEffect::CutOff(session.slot)));
    }

    /// Cuts the server off from its clients but this one, and but those that are exempt; returns how many they are now.
    ///
    /// # Errors
    /// Returns an error if there are too many partitions.
    pub(crate) fn part_from_clients(
        &mut self,
        sessions: &Sessions,
        (spared, links): (u64, &[Slot]),
        link: Link,
        step: &mut FaultStep<'_>,
    ) -> Result<usize, CommandError> {
        let members = self.clients_but(sessions, spared, links).count();
        self.connections.part(Partition { group: Group::All, link, spared }, step)?;
        Ok(members)
    }

    /// The sessions of clients but this one, and but those that are exempt.
    fn clients_but<'a>(
        &'a self,
        sessions: &'a Sessions,
        but: u64,
        links: &'a [Slot],
    ) -> impl Iterator<Item = &'a Session> {
        sessions.live().filter(move |session| {
            let is_client = !session.is_master && !links.contains(&session.slot) && session.id != but;
            is_client && !self.connections.is_exempt(session.id)
        })
    }

    /// Drops what rules hold of other servers of the process, with their connections.
    pub(crate) fn drop_held_of_servers(&self, sessions: &Sessions, step: &mut FaultStep<'_>) {
        let held = self.held.all().filter_map(|client| sessions.find(client));
        for session in held.map(|slot| sessions.get(slot)).filter(|session| session.peer.in_process) {
            let slot = session.slot;
            step.add(match self.held.is_orphan(session.id) {
                true => FaultEffect::DropOrphan(slot),
                false => FaultEffect::CutOff(slot),
            });
        }
    }

    /// Disconnects orphans and the clients of black holes but `caller`, before everything begins anew: what was lost
    /// does not come back.
    pub(crate) fn cut_lost(&self, sessions: &Sessions, caller: Option<Slot>, step: &mut FaultStep<'_>) {
        let is_spared =
            |session: &Session| caller == Some(session.slot) || !self.connections.is_black_hole(session.id);
        self.cut(sessions, is_spared, step);
    }

    /// Begins anew: no rule, every connection carried, no outage. Exempt clients stay so, and what is held stays held.
    pub(crate) fn reset(&mut self, seed: u64, step: &mut FaultStep<'_>) {
        self.outage.reset(step);
        self.rules = Rules::new(seed);
        self.held.forget_orphans();
        self.causes.clear();
        step.add(FaultEffect::RulesChanged);
        self.connections.reset(step);
    }

    /// Bytes of memory that they take, besides what is counted with clients. O(partitions).
    pub(crate) fn memory(&self) -> usize {
        self.rules.memory() + self.connections.memory()
    }
}
