//! Engines of one process that share a clock: what each asks of it, and how all are turned together.

use super::clock_change::ClockChange;
use super::clock_turn::{ClockTurn, Left, RedissonWaiters, TurnProgress};
use super::deadlines::Due;
use super::engine::Engine;
use super::faults::NodeFault;
use super::planned_turns::PlannedTurn;
use super::shared_clock::{ClockRequest, MemberAddress, Promotion};
use super::together::Together;
use crate::clients::Slot;
use crate::locks::StampSource;
use crate::time::{Clock, ClockError, Now, Over};
use crate::timers::{Timer, TimerKind};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Lets what the engines have sent one another arrive.
pub(crate) type Exchange<'a> = dyn FnMut(&mut [&mut Engine]) + 'a;

impl Engine {
    /// From now on its clock is one that other engines have too: turns of it are left to who drives all of them. They
    /// listen on these ports, this one on that at `place`; their histories are one, in the order of `stamps`.
    pub(crate) fn share_clock(&mut self, members: &[MemberAddress], place: usize, stamps: StampSource) {
        let shared = &mut self.time.shared;
        (shared.is_shared, shared.members, shared.place) = (true, members.to_vec(), place);
        shared.stamps = Some(stamps);
        self.configure_ledger();
        self.ask_all_for_history();
    }

    /// Whether turns of its clock are left to who drives all engines.
    pub(crate) fn shares_clock(&self) -> bool {
        self.time.shared.is_shared
    }

    /// Something from another engine arrives at this instant of the monotonic clock, in milliseconds.
    pub(crate) fn look_again_at(&mut self, at_ms: i64) {
        if let Some((earlier_ms, timer)) = self.time.shared.arrival {
            if earlier_ms <= at_ms {
                return;
            }
            self.time.timers.cancel(timer);
        }
        let timer = Timer { kind: TimerKind::Arrival, client: 0, order: self.keyspace.next_order() };
        self.time.shared.arrival = Some((at_ms, self.time.timers.insert(timer, at_ms)));
    }

    /// That instant has come.
    pub(super) fn arrival_due(&mut self) {
        self.time.shared.arrival = None;
        self.ask_clock(ClockRequest::Arrival);
    }

    /// Whether it asks something of the clock.
    pub fn asks_clock(&self) -> bool {
        !self.time.shared.requests.is_empty()
    }

    /// Whether a client of it waits for all partitions to end.
    pub fn asks_to_heal(&self) -> bool {
        let heals = |asked: &ClockRequest| {
            matches!(asked, ClockRequest::Together(_, Together::Fault(NodeFault::Heal)))
        };
        self.time.shared.requests.iter().any(heals)
    }

    /// The servers that its clients want to be killed, by their places.
    pub fn asks_to_kill(&self) -> impl Iterator<Item = usize> {
        self.time.shared.requests.iter().filter_map(|asked| match asked {
            ClockRequest::Together(_, Together::Fault(NodeFault::Down { node, .. })) => Some(*node),
            _ => None,
        })
    }

    /// What it asks of the clock.
    pub(crate) fn next_clock_request(&mut self) -> Option<ClockRequest> {
        self.time.shared.requests.pop_front()
    }

    /// That it has followed its master no longer, if it has asked to have that noted. O(1) mostly.
    pub(crate) fn take_promotion(&mut self) -> Option<Promotion> {
        let requests = &mut self.time.shared.requests;
        let at = requests.iter().position(|asked| matches!(asked, ClockRequest::Promoted(_)))?;
        match requests.remove(at) {
            Some(ClockRequest::Promoted(promotion)) => Some(promotion),
            _ => None,
        }
    }

    /// Whether it has begun anew since this was last asked.
    pub(crate) fn take_reset(&mut self) -> bool {
        self.take_request(|asked| matches!(asked, ClockRequest::Reset))
    }

    /// Whether it may have announced another address since this was last asked.
    pub(crate) fn take_announcement(&mut self) -> bool {
        self.take_request(|asked| matches!(asked, ClockRequest::Announced))
    }

    /// Takes all requests of a kind. Whether there was one.
    fn take_request(&mut self, is_meant: impl Fn(&ClockRequest) -> bool) -> bool {
        let requests = &mut self.time.shared.requests;
        let before = requests.len();
        requests.retain(|asked| !is_meant(asked));
        requests.len() < before
    }

    /// Notes the addresses of the servers that share the clock.
    pub(crate) fn note_members(&mut self, members: &[MemberAddress]) {
        self.time.shared.members = members.to_vec();
    }

    /// Asks for something, if the clock is shared.
    pub(crate) fn ask_clock(&mut self, request: ClockRequest) {
        if self.time.shared.is_shared {
            self.time.shared.requests.push_back(request);
        }
    }

    /// The turn that a client waits for, which continues without it meanwhile.
    pub(crate) fn begin_shared_turn(&mut self, client: u64) -> Option<(Slot, Box<ClockTurn>)> {
        let slot = self.sessions.find(client)?;
        let turn = self.take_turn(slot)?;
        self.note_turn_goes_on(slot);
        self.note_turning(true);
        Some((slot, turn))
    }

    /// The turn of this number, whose client has gone, or no longer waits for it; unless a reset has ended it.
    pub(crate) fn take_left_turn(&mut self, number: u64) -> Option<Box<ClockTurn>> {
        self.time.left_turns.take(number)
    }

    /// Such a turn has been continued.
    pub(crate) fn end_left_turn(&mut self, turn: Box<ClockTurn>, progress: TurnProgress) {
        if let TurnProgress::WaitUs(us) = progress {
            self.leave_turn(turn, us);
        }
        self.commit();
    }

    /// A turn that a client waits for has been continued: it waits on, or is answered.
    pub(crate) fn end_shared_turn(&mut self, slot: Slot, turn: Box<ClockTurn>, progress: TurnProgress) {
        self.note_turning(false);
        if self.sessions.is_connected(slot) {
            self.go_on_waiting(slot, turn, progress);
            self.commit();
        } else {
            self.end_left_turn(turn, progress);
        }
    }

    /// The turn that a script has planned. `None` when another client has changed the clock since: it would leave its
    /// range.
    pub(crate) fn planned_turn(&self, planned: PlannedTurn) -> Option<ClockTurn> {
        let turn = match planned {
            PlannedTurn::Advance { ms, waiters } => self.turn_by(ms).map(|turn| turn.waking(waiters)),
            PlannedTurn::Step(ms) => self.turn_changing(ClockChange::Step(ms)),
        };
        turn.ok()
    }

    /// The clock as it stands, for servers that follow it; one that could not: see [`Engine::catch_up`].
    pub fn clock(&self) -> Clock {
        self.time.clock.clone()
    }

    /// Lets a server that hung while others turned the clock go on where theirs is, at this instant of the system's
    /// clocks. Deadlines that have passed meanwhile are due now, and fire in pieces, as after a hang while time runs.
    /// Where a client of it
    /// has changed the clock before it hung, all are to follow that change, from where the others are.
    pub fn catch_up(&mut self, clock: &Clock, system: Now) {
        let before = self.time.now;
        if self.time.is_amid_turn() || self.time.is_behind {
            // Its clients have seen that gone; the other clock may have been set back since.
            self.fire_due(usize::MAX, self.time.over());
        }
        self.time.stop_turn(None);
        let has_changed =
            self.time.shared.requests.iter().any(|asked| matches!(asked, ClockRequest::Changed));
        if has_changed {
            let behind_us =
                clock.read(system).monotonic_us.saturating_sub(self.time.clock.read(system).monotonic_us);
            // The other clock is as far already.
            let _in_range = self.time.clock.advance_us(system, behind_us);
        } else {
            self.time.clock = clock.clone();
        }
        self.time.is_behind = true;
        self.go_on_at(system);
        self.note_turn(before);
        if self.time.now.wall_us > before.wall_us {
            self.keyspace.note_turn();
        }
    }
}

/// Turns the clock of all these engines, stopping at each deadline of any of them; as far as the turn goes before
/// clients are to react. Of deadlines at one instant those of the first engine fire first.
pub(crate) fn turn_together(
    nodes: &mut [&mut Engine],
    turn: &mut ClockTurn,
    exchange: &mut Exchange<'_>,
) -> TurnProgress {
    let system_us = nodes[0].time.system.monotonic_us;
    turn.begin(system_us);
    let quiet_since_us = nodes.iter().map(|node| node.time.quiet_since_us()).max().unwrap_or(0);
    if let Some(wait_us) = turn.wait_us(system_us, quiet_since_us) {
        return TurnProgress::WaitUs(wait_us);
    }
    let over = nodes.iter().find_map(|node| node.time.amid());
    let is_over = turn.is_amid() && turn.has_arrived() && over.is_none();
    if is_over || !turn.outlives(count_resets(nodes)) {
        // Another client has had the rest of its last instant fired, or has begun anew.
        turn.leave_instant();
        turn.arrive(nodes[0].time.now.wall_ms());
        return TurnProgress::Done;
    }
    if let Some(mut rest) = turn.before_change(over.unwrap_or_else(|| nodes[0].time.over())) {
        let progress = go_on(nodes, &mut rest, exchange);
        if progress != TurnProgress::Done {
            turn.stop_amid();
            return progress;
        }
        turn.leave_instant();
    } else if let Some(over) = over.filter(|_| turn.has_arrived()) {
        turn.follow_rule(over);
    }
    if let Err(error) = begin_way(nodes, turn) {
        turn.leave_instant();
        turn.fail(error);
        return TurnProgress::Done;
    }
    go_on(nodes, turn, exchange)
}

/// Returns the number of times that the clock of these engines began anew, which all of them know from now on.
fn count_resets(nodes: &mut [&mut Engine]) -> u64 {
    let resets = nodes.iter().map(|node| node.time.resets()).max().unwrap_or(0);
    nodes.iter_mut().for_each(|node| node.time.set_resets(resets));
    resets
}

/// Makes the change with which a turn begins, if it has not been made.
///
/// # Errors
/// When the clock would leave its range by that, or by what is left of the turn. The request was in range, but another
/// client may have moved the clock since.
fn begin_way(nodes: &mut [&mut Engine], turn: &mut ClockTurn) -> Result<(), ClockError> {
    if let Some(change) = turn.take_change() {
        return nodes.iter_mut().try_for_each(|node| node.change_clock(&change));
    }
    let time = &nodes[0].time;
    match turn.left {
        Left::Us(us) if !time.clock.reaches_us(time.system, us) => Err(ClockError),
        _ => Ok(()),
    }
}

/// Turns the clock, once a turn has made its change.
fn go_on(nodes: &mut [&mut Engine], turn: &mut ClockTurn, exchange: &mut Exchange<'_>) -> TurnProgress {
    let is_quiet = turn.waiters == RedissonWaiters::LeftAsleep;
    nodes.iter_mut().for_each(|node| node.keyspace.turn_quietly(is_quiet));
    if lasts(nodes, turn) {
        turn.go_on_at(nodes[0].system_now().monotonic_us);
    }
    let turned = catch_unwind(AssertUnwindSafe(|| turn_by_instants(nodes, turn, exchange)));
    if let (Ok(TurnProgress::Done), Left::Us(us)) = (&turned, turn.left) {
        nodes.iter_mut().for_each(|node| node.turn(us));
    }
    let has_ended = !matches!(turned, Ok(TurnProgress::WaitUs(_)));
    if has_ended {
        turn.leave_instant();
    }
    if has_ended || turn.is_at_end() {
        turn.arrive(nodes[0].time.now.wall_ms());
    }
    let amid = turn.amid();
    for node in nodes {
        node.leave_instant(amid);
        node.keyspace.turn_quietly(false);
    }
    turned.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Whether a piece of the turn ends by real time too: servers tell one another of each deadline.
fn lasts(nodes: &[&mut Engine], turn: &ClockTurn) -> bool {
    nodes.len() > 1 && turn.is_in_pieces()
}

/// A deadline of one of the engines, by its place among them, and in how many microseconds it is.
type NodeDue = (usize, Due, u64);

/// Returns the first deadline of all engines, where deadlines are over by this rule.
fn earliest(nodes: &mut [&mut Engine], over: Over) -> Option<NodeDue> {
    let of_each = nodes.iter_mut().enumerate().filter_map(|(index, node)| {
        let (due, in_us) = node.earliest_in_us(over)?;
        Some((index, due, in_us))
    });
    // Of equal ones the first.
    of_each.min_by_key(|(_, _, in_us)| *in_us)
}

fn wakes(nodes: &[&mut Engine]) -> u64 {
    nodes.iter().map(|node| node.sessions.wakes()).sum()
}

fn turn_by_instants(
    nodes: &mut [&mut Engine],
    turn: &mut ClockTurn,
    exchange: &mut Exchange<'_>,
) -> TurnProgress {
    let mut next = earliest(nodes, turn.over());
    while let Some(due) = next
        && turn.goes_to(due.2)
    {
        let wakes_before = wakes(nodes);
        next = fire_instant(nodes, turn, due, exchange);
        turn.note_sent(wakes(nodes) != wakes_before);
        if turn.is_amid() {
            return TurnProgress::WaitUs(0);
        }
        if turn.leaps() {
            match turn.left {
                Left::Us(us) => nodes.iter_mut().for_each(|node| node.leap_over(us / 1000)),
                Left::Instants(_) => return TurnProgress::Done,
            }
            next = earliest(nodes, turn.over());
        }
        if turn.take_sent() {
            // Firing may have taken long.
            let now_us = nodes[0].system_now().monotonic_us;
            turn.tell(now_us);
            if let Some(wait_us) = turn.wait_us(now_us, 0) {
                turn.begin_piece();
                return TurnProgress::WaitUs(wait_us);
            }
        }
        if turn.ends_piece() && next.is_some_and(|due| turn.left.reaches(due.2)) {
            return TurnProgress::WaitUs(0);
        }
    }
    TurnProgress::Done
}

/// Goes to an instant and fires all that is due there, unless that is too much for one piece of the turn. What is due
/// after that.
fn fire_instant(
    nodes: &mut [&mut Engine],
    turn: &mut ClockTurn,
    (mut index, mut due, in_us): NodeDue,
    exchange: &mut Exchange<'_>,
) -> Option<NodeDue> {
    for node in nodes.iter_mut() {
        node.turn(in_us);
        // Also where the instant is the present one.
        node.keyspace.go_on_at(node.time.now, turn.over());
    }
    loop {
        let node = &mut nodes[index];
        let served = node.observers.stats.unblocked_clients;
        let renewed = node.time.renewed_leases;
        let most = turn.most_at_once();
        let fired = node.fire(due, turn.over(), most, |fired| turn.see(fired));
        turn.works(fired.saturating_sub(1) as u64);
        turn.renewed(node.time.renewed_leases - renewed);
        if let Some((db, key)) = turn.put_off(node.observers.stats.unblocked_clients != served) {
            node.retry_after(turn.left, db, &key);
        }
        exchange(nodes);
        if lasts(nodes, turn) {
            turn.last_until(nodes[0].system_now().monotonic_us);
        }
        match earliest(nodes, turn.over()) {
            Some((next, next_due, 0)) if turn.ends_piece() => {
                turn.stop_amid();
                return Some((next, next_due, 0));
            }
            Some((next, next_due, 0)) => (index, due) = (next, next_due),
            later => return later,
        }
    }
}
