//! News of holds that begin and end, kept until they are sent.

use super::message;
use lockwheel_store::keyspace::{Context, DbKey, Effect, EventValue};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The connection for which a lock is held.
#[derive(Clone, Debug)]
pub(in crate::locks) struct HolderConnection {
    pub(in crate::locks) session: u64,
    pub(in crate::locks) db: usize,
    pub(in crate::locks) key: Box<[u8]>,
    pub(in crate::locks) owner: Box<[u8]>,
}

/// The data of a hold that begins or ends.
pub(in crate::locks) struct HoldNews<'n> {
    pub(in crate::locks) db: usize,
    pub(in crate::locks) key: &'n [u8],
    pub(in crate::locks) owner: &'n [u8],
    pub(in crate::locks) grant: u64,
}

/// The largest number of connections that are notified of one hold.
const MAX_FOLLOWERS: usize = 64;

/// The news to send at the end of the present step, and the connections to notify of losses.
#[derive(Debug, Default)]
pub(in crate::locks) struct News {
    is_listening: bool,
    /// The RESP3 connections for which locks are held, by grant and connection.
    connections: BTreeMap<(u64, u64), HolderConnection>,
    /// Connections and their grants, by lock.
    by_key: BTreeMap<DbKey, BTreeSet<(u64, u64)>>,
    name_bytes: usize,
    /// The reason that the caller of LOCK.FORCEUNLOCK gives for taking holds away.
    reason: Option<Arc<[u8]>>,
    untold: Vec<Effect>,
    in_jeopardy: JeopardyTold,
}

/// The connections notified at one instant that their lease is about to run out.
#[derive(Debug, Default)]
struct JeopardyTold {
    at_ms: i64,
    /// The grant of the notice, by connection and by the lock's database and key.
    connections: BTreeMap<(u64, usize, Box<[u8]>), u64>,
    name_bytes: usize,
}

impl JeopardyTold {
    /// Notes that a connection is notified at this instant. Whether it was notified of no other grant then. O(log n).
    fn note(&mut self, at_ms: i64, grant: u64, hold: &HolderConnection) -> bool {
        if self.at_ms != at_ms {
            *self = JeopardyTold { at_ms, ..JeopardyTold::default() };
        }
        match self.connections.entry((hold.session, hold.db, hold.key.clone())) {
            Entry::Occupied(told) => *told.get() == grant,
            Entry::Vacant(untold) => {
                self.name_bytes += hold.key.len();
                untold.insert(grant);
                true
            }
        }
    }

    /// Returns the bytes of the notes, before an allocator rounds them up. O(1).
    fn bytes(&self) -> usize {
        self.connections.len() * size_of::<((u64, usize, Box<[u8]>), u64)>() + self.name_bytes
    }
}

impl News {
    /// Begins a step in which holds may begin and end.
    #[inline]
    pub(in crate::locks) fn listen(&mut self, context: &Context<'_>) {
        self.is_listening = context.has_server_audience();
    }

    /// Whether any listener or connection is to be notified.
    #[inline]
    pub(in crate::locks) fn is_wanted(&self) -> bool {
        self.is_listening || !self.connections.is_empty()
    }

    /// Whether any connection is to be notified when a lock is lost.
    #[inline]
    pub(in crate::locks) fn has_connections(&self) -> bool {
        !self.connections.is_empty()
    }

    #[inline]
    pub(in crate::locks) fn tell(&mut self, context: &mut Context<'_>) {
        if !self.untold.is_empty() {
            self.untold.drain(..).for_each(|effect| context.push_effect(effect));
        }
    }

    pub(in crate::locks) fn set_reason(&mut self, reason: Option<&[u8]>) {
        self.reason = reason.map(Arc::from);
    }

    pub(in crate::locks) fn begun(&mut self, hold: &HoldNews<'_>, native: bool) {
        if self.is_listening {
            let kind: &[u8] = if native { b"native" } else { b"foreign" };
            let mut fields = fields(hold);
            fields.push(("kind", EventValue::Text(kind.into())));
            self.untold.push(message::effect(hold.db, hold.key, "acquired", &fields));
        }
    }

    /// Notes that a waiting owner now holds a key that is waited for, or no longer holds it.
    pub(in crate::locks) fn hold_changed(&mut self, db: usize, key: &[u8], owner: &[u8]) {
        self.untold.push(Effect::HoldChanged { db, key: key.into(), label: owner.into() });
    }

    /// Notes that a hold has been taken once more.
    pub(in crate::locks) fn re_entered(&mut self, hold: &HoldNews<'_>) {
        if self.is_listening {
            self.untold.push(message::effect(hold.db, hold.key, "reentered", &fields(hold)));
        }
    }

    /// Notes a habit that may cause a failure later, such as a lock without a lease.
    pub(in crate::locks) fn lint(&mut self, (db, key): (usize, &[u8]), owner: &[u8], habit: &str) {
        if self.is_listening {
            let text = |text: &[u8]| EventValue::Text(text.into());
            let fields = [("owner", text(owner)), ("habit", text(habit.as_bytes()))];
            self.untold.push(message::effect(db, key, "lint", &fields));
        }
    }

    /// Notifies the connection of a hold when it is lost. Of too many connections, only the latest. O(log n).
    pub(in crate::locks) fn follow(&mut self, grant: u64, connection: HolderConnection) {
        let which = (grant, connection.session);
        self.unfollow(which);
        let first = self.connections(grant).next().map(|earliest| earliest.session);
        if let Some(first) = first.filter(|_| self.connections(grant).count() == MAX_FOLLOWERS) {
            self.unfollow((grant, first));
        }
        self.name_bytes += 2 * connection.key.len() + connection.owner.len();
        let of_key = self.by_key.entry((connection.db, connection.key.clone())).or_default();
        of_key.insert((connection.session, grant));
        self.connections.insert(which, connection);
    }

    /// Returns the connections of a hold.
    pub(in crate::locks) fn connections(&self, grant: u64) -> impl Iterator<Item = &HolderConnection> {
        self.connections.range((grant, 0)..=(grant, u64::MAX)).map(|(_, connection)| connection)
    }

    /// Returns the connections of a hold to notify now that the hold is in jeopardy. Connections already notified of
    /// another hold of this lock at this instant of the wall clock are left out.
    pub(in crate::locks) fn untold_of_jeopardy(&mut self, grant: u64, at_ms: i64) -> Vec<u64> {
        let holds = self.connections.range((grant, 0)..=(grant, u64::MAX));
        let told = &mut self.in_jeopardy;
        let untold = holds.filter(|(_, hold)| told.note(at_ms, grant, hold));
        untold.map(|(_, hold)| hold.session).collect()
    }

    fn unfollow(&mut self, which: (u64, u64)) {
        if let Some(connection) = self.connections.remove(&which) {
            self.name_bytes -= 2 * connection.key.len() + connection.owner.len();
            let lock = (connection.db, connection.key);
            if let Some(of_key) = self.by_key.get_mut(&lock) {
                of_key.remove(&(which.1, which.0));
                if of_key.is_empty() {
                    self.by_key.remove(&lock);
                }
            }
        }
    }

    /// Returns the connections with a wanted hold of a lock, each with the first of these. O(log n) for each hold.
    pub(in crate::locks) fn wanted_holds(
        &self,
        db: usize,
        key: &[u8],
        is_wanted: impl Fn(u64, &HolderConnection) -> bool,
    ) -> Vec<(u64, &HolderConnection)> {
        let Some(of_key) = self.by_key.get(&(db, key.into())) else { return Vec::new() };
        let (mut found, mut from) = (Vec::new(), (0, 0));
        while let Some(&(session, grant)) = of_key.range(from..).next() {
            let hold = self.connections.get(&(grant, session)).filter(|hold| is_wanted(grant, hold));
            found.extend(hold.map(|hold| (grant, hold)));
            from = if hold.is_some() { (session + 1, 0) } else { (session, grant + 1) };
        }
        found
    }

    /// Removes and returns the connections of a hold that has ended.
    fn unfollow_all(&mut self, grant: u64) -> Vec<u64> {
        let sessions: Vec<u64> = self.connections(grant).map(|connection| connection.session).collect();
        sessions.iter().for_each(|session| self.unfollow((grant, *session)));
        sessions
    }

    /// Notes that a hold has ended for this cause, which is `released` if the owner gave it back.
    pub(in crate::locks) fn ended(&mut self, hold: &HoldNews<'_>, cause: &'static str) {
        let sessions = if self.connections.is_empty() { Vec::new() } else { self.unfollow_all(hold.grant) };
        let is_lost = !matches!(cause, "released" | "transferred");
        let mut fields = fields(hold);
        if is_lost {
            fields.push(("cause", EventValue::Text(cause.as_bytes().into())));
            let reason = self.reason.clone();
            fields.extend(reason.map(|reason| ("reason", EventValue::Text(reason))));
        }
        if self.is_listening {
            let name = if is_lost { "lost" } else { cause };
            self.untold.push(message::effect(hold.db, hold.key, name, &fields));
        }
        for session in sessions.into_iter().filter(|_| is_lost) {
            self.untold.push(push(session, "lock-lost", hold, fields.clone()));
        }
    }

    /// Notes the loss of all holds of a database that have not been reported yet. O(n), n all connections.
    pub(in crate::locks) fn flushed(&mut self, db: usize) {
        let gone: Vec<u64> =
            self.connections.iter().filter(|(_, hold)| hold.db == db).map(|((grant, _), _)| *grant).collect();
        for grant in gone {
            let hold = self.connections(grant).next().cloned();
            if let Some(HolderConnection { key, owner, .. }) = hold {
                self.ended(&HoldNews { db, key: &key, owner: &owner, grant }, "deleted");
            }
        }
    }

    /// Exchanges the holds of two databases. O(n), n all connections.
    pub(in crate::locks) fn swapped(&mut self, one: usize, other: usize) {
        let mut by_key: BTreeMap<DbKey, BTreeSet<(u64, u64)>> = BTreeMap::new();
        for ((grant, session), hold) in &mut self.connections {
            match hold.db {
                db if db == one => hold.db = other,
                db if db == other => hold.db = one,
                _ => {}
            }
            by_key.entry((hold.db, hold.key.clone())).or_default().insert((*session, *grant));
        }
        self.by_key = by_key;
    }

    /// Returns the bytes of the news, before an allocator rounds them up. O(1).
    pub(in crate::locks) fn bytes(&self) -> usize {
        let of_each = size_of::<((u64, u64), HolderConnection)>() + size_of::<(u64, u64)>();
        self.connections.len() * of_each + self.name_bytes + self.in_jeopardy.bytes()
    }
}

fn fields(hold: &HoldNews<'_>) -> Vec<(&'static str, EventValue)> {
    let grant = i64::try_from(hold.grant).unwrap_or(i64::MAX);
    vec![("owner", EventValue::Text(hold.owner.into())), ("grant", EventValue::Number(grant))]
}

/// Returns a push to the connection of a hold: the database and the key, then the fields of the event.
pub(in crate::locks) fn push(
    session: u64,
    kind: &'static str,
    hold: &HoldNews<'_>,
    mut rest: Vec<(&'static str, EventValue)>,
) -> Effect {
    let mut fields =
        vec![("db", EventValue::Number(hold.db as i64)), ("key", EventValue::Text(hold.key.into()))];
    fields.append(&mut rest);
    Effect::Push { session, kind, fields }
}
