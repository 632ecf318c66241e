//! The state of all faults.

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

#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) rules: Rules,
    /// The clients whose requests or replies a rule holds.
    pub(crate) held: HeldClients,
    /// The connections whose traffic a fault affects.
    pub(crate) connections: Connections,
    pub(crate) outage: Outage,
    /// The running requests, recorded while rules see messages.
    pub(super) causes: Causes,
    /// Whether a rule may still act on messages.
    sees_messages: bool,
}

impl Faults {
    /// Creates a state without faults. Random draws will come from this seed.
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

    /// Updates what depends on the rules after a change of them. Returns whether a rule may still act.
    pub(crate) fn look_at_rules(&mut self) -> bool {
        let any_live = self.rules.any_live();
        self.sees_messages = any_live && self.rules.any_on_messages();
        any_live
    }

    /// Adds a rule, given its name and its words. Fails for an invalid rule, a taken name, or too many rules.
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
                    "ERR fault rules do not apply to the control command '{}'",
                    command.name
                ))),
                false => Ok(command.name.clone()),
            }
        };
        self.rules.add(args, &resolve)?;
        step.add(FaultEffect::RulesChanged);
        Ok(())
    }

    /// Removes a rule and releases the requests and replies that it holds. Returns whether the rule existed.
    pub(crate) fn remove_rule(&mut self, name: &[u8], step: &mut FaultStep<'_>) -> bool {
        let Some(rule) = self.rules.remove(name) else { return false };
        step.add(FaultEffect::RulesChanged);
        self.held.of(rule).into_iter().for_each(|client| step.add(FaultEffect::GoOn(client)));
        true
    }

    /// Releases all requests and replies that rules hold.
    pub(crate) fn let_all_go(&self, step: &mut FaultStep<'_>) {
        self.held.all().for_each(|client| step.add(FaultEffect::GoOn(client)));
    }

    pub(crate) fn forget_client(&mut self, client: u64, step: &mut FaultStep<'_>) {
        self.held.take_orphan(client);
        self.connections.forget(client, step);
    }

    /// Forgets the causes of messages after a request has panicked.
    pub(crate) fn forget_causes(&mut self) {
        self.causes.clear();
    }

    /// Whether a session belongs to a connected client. The stream of a master and an orphan do not count.
    pub(crate) fn is_client(&self, session: &Session) -> bool {
        let is_there = session.closing != Some(Closing::Now) && !session.is_master;
        is_there && !self.held.is_orphan(session.id)
    }

    /// Whether a client is connected. The sessions of other servers (`links`) and the stream of a master do not count.
    pub(crate) fn has_clients(&self, sessions: &Sessions, links: &[Slot]) -> bool {
        let slots = sessions.slots().filter(|slot| !links.contains(slot));
        slots.map(|slot| sessions.get(slot)).any(|session| self.is_client(session))
    }

    #[inline]
    pub(crate) fn is_lost(&self, session: &Session) -> bool {
        self.connections.has_any() && self.connections.is_lost(session)
    }

    /// Disconnects all clients except the spared ones. The held requests of orphans are dropped. A dying server also
    /// disconnects clients that are about to be closed.
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

    /// Disconnects all clients except `but`, exempt clients, and the sessions of other servers.
    pub(crate) fn cut_clients(
        &self,
        sessions: &Sessions,
        (but, links): (u64, &[Slot]),
        step: &mut FaultStep<'_>,
    ) {
        self.clients_but(sessions, but, links)
            .for_each(|session| step.add(FaultEffect::CutOff(session.slot)));
    }

    /// Cuts off the clients, except `spared` and exempt ones. Returns their number, or fails for too many partitions.
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

    /// Returns the sessions of all clients, except `but` and exempt ones.
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

    /// Drops the held requests and replies of other servers of the process, and closes their connections.
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

    /// Disconnects orphans and the clients of black holes, except `caller`: lost traffic must not come back by a reset.
    pub(crate) fn cut_lost(&self, sessions: &Sessions, caller: Option<Slot>, step: &mut FaultStep<'_>) {
        let is_spared =
            |session: &Session| caller == Some(session.slot) || !self.connections.is_black_hole(session.id);
        self.cut(sessions, is_spared, step);
    }

    /// Removes all rules, ends the outage, and lets every connection carry its traffic. Exempt clients stay exempt, and
    /// held requests and replies stay held.
    pub(crate) fn reset(&mut self, seed: u64, step: &mut FaultStep<'_>) {
        self.outage.reset(step);
        self.rules = Rules::new(seed);
        self.held.forget_orphans();
        self.causes.clear();
        step.add(FaultEffect::RulesChanged);
        self.connections.reset(step);
    }

    /// Returns the bytes of memory that the faults take, without those counted with clients. O(partitions).
    pub(crate) fn memory(&self) -> usize {
        self.rules.memory() + self.connections.memory()
    }
}
