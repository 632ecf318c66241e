//! `SEM.ACQUIRE`: takes permits, at once or after a wait.

use super::super::options::DEFAULT_LEASE_MS;
use super::super::{options, records, sessions};
use super::holds::{Hold, Id, Lease};
use super::{HistoryCause, change_account, count, ids, owner, publish, session};
use crate::locks::redisson::NEVER_MS;
use crate::spec::{
    Args, Argument, Asking, Attempt, BlockingHandler, BlockingOutcome, CommandError, CommandGrammar, Flags,
    Flow, KeyFlags, KeySpec, Null, ParsedArgs, Row, Wait, WaitClass, grammar, symbols,
};
use lockwheel_resp::{Reply, number};
use lockwheel_store::keyspace::Tx;

/// The largest number of permits with ids that are given out at once.
const MAX_PERMITS_WITH_IDS: i64 = 10_000;

const ACQUIRE: &CommandGrammar = grammar!(
    "key owner [PERMITS count:1..] [SESSION] [PING milliseconds:100..] [PX milliseconds:1..] [IDS] \
     [BLOCK milliseconds:0..] [PRIORITY priority:integer] [BARGE]"
);

symbols!(ACQUIRE: PERMITS, SESSION, PING, PX, IDS, BLOCK, PRIORITY, BARGE);

pub(super) const ROWS: &[Row<BlockingHandler>] = &[Row::new("sem.acquire", -3, acquire as BlockingHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST, Flags::BLOCKING])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(log N + M), N the waiters and the holds, M the permits with ids")
    .summary("Acquires permits of a semaphore; with BLOCK waits for them, first come, first served.")
    .reply(
        "A map: `permits`; `left`, the available permits; `token`; `waited` in milliseconds; \
         `ids`, an array that is empty without IDS. Null if there are too few permits, if \
         others wait, or if BLOCK has passed.",
    )
    .options(&[&[
        ("PERMITS count", "The number of permits, 1 by default; with IDS up to 10,000."),
        (
            "SESSION",
            "Keeps the permits as long as the connection lives. The server renews the \
             lease.",
        ),
        (
            "PING milliseconds",
            "With SESSION: also gives the permits back when the client has sent nothing for that time, \
             at least 100.",
        ),
        ("PX milliseconds",
            "The lease. Without PX the owner keeps the permits until it releases them; with SESSION, the lease is \
             30 seconds.",
        ),
        (
            "IDS",
            "Gives each permit an id and a lease of its own, as Redisson's \
             RPermitExpirableSemaphore does.",
        ),
        ("BLOCK milliseconds", "Waits for permits, first come, first served. 0 waits for ever."),
        ("PRIORITY priority", "Serves a higher priority first. The default is 0."),
        ("BARGE", "Does not queue behind other waiters."),
    ]])
    .example(&[
        "SEM.INIT pool 3",
        "SEM.ACQUIRE pool alice PERMITS 2 PX 5000",
        "SEM.ACQUIRE pool bob PERMITS 2",
        "CLOCK.ADVANCE 5000",
        "SEM.ACQUIRE pool bob PERMITS 2",
    ])
    .help(&[
        "SEM.ACQUIRE <key> <owner> [PERMITS <count>] [SESSION [PING <milliseconds>]] [PX <milliseconds>] [IDS] \
             [BLOCK <milliseconds>] [PRIORITY <priority>] [BARGE]",
        "    Acquire permits until their release, or until PX has passed. SESSION: also until the connection",
        "    ends. PING: also until the client has sent nothing for that time. IDS gives each permit an id.",
        "    BLOCK waits, 0 for ever. BARGE does not queue behind other waiters.",
    ])
    .help_after("sem.init")
    .grammar(ACQUIRE)
    .errors(&[
        "ERR syntax error: *",
        "ERR value is out of range, must be positive: *",
        "ERR value is not an integer or out of range: *", count::NOT_A_COUNT,
        "ERR invalid expire time in 'sem.acquire' command: *",
        "ERR timeout is not an integer or out of range: *",
        "ERR timeout is negative: *",
        "ERR invalid owner: *",
        "ERR PERMITS must be at most 10000 with IDS, not *",
        "ERR the lease of a session must be at least 100 milliseconds, not *",
        "ERR invalid PING interval: *",
        "UNBLOCKED LOCK.CANCEL ended the wait",
    ])];

/// The name of the wait class of `SEM.ACQUIRE`.
pub(in crate::locks) const CLASS: &str = "semaphore";

/// The class of waiters for permits of a semaphore. The head blocks those behind it, however few permits they want.
const SEMAPHORE: WaitClass = WaitClass {
    name: CLASS,
    line: CLASS,
    accepts: |_| true,
    asking: Asking::InOrder,
    out_of_turn: None,
    counts: true,
};

#[derive(Debug)]
struct Acquire {
    permits: i64,
    lease_ms: Option<i64>,
    /// Whether each permit gets an id, with its lease in the keyspace.
    ids: bool,
    /// Whether the server renews the lease while the connection lives, and gives the permits back when it ends.
    session: bool,
    /// The longest silence of a session's client, in milliseconds.
    ping_ms: Option<i64>,
    priority: i64,
    /// Whether the request need not queue behind waiters.
    barge: bool,
}

fn parse(tx: &Tx<'_>, args: Args<'_>) -> Result<(Acquire, Option<Option<u64>>), CommandError> {
    let options: ParsedArgs<'_> = ACQUIRE.parse(args)?;
    let (ids, session) = (options.has(IDS), options.has(SESSION));
    let least_ms = sessions::least_ms(session);
    let most = if ids { MAX_PERMITS_WITH_IDS } else { i64::MAX };
    if let Some(permits) =
        options.value(PERMITS).and_then(number::parse_i64).filter(|&permits| permits > most)
    {
        return Err(CommandError::new(format!(
            "ERR PERMITS must be at most {MAX_PERMITS_WITH_IDS} with IDS, not {permits}"
        )));
    }
    let permits = options.integer(PERMITS.at_most(most))?.unwrap_or(1);
    let priority = options.integer(PRIORITY)?.unwrap_or(0);
    let mut lease_ms = options::lease_from_ms(tx, &options, &[(PX, 1)], ("sem.acquire", least_ms))?;
    let ping_ms = sessions::ping_ms(&options, PING)?;
    let block = options::block_ms(&options, BLOCK)?;
    if session {
        lease_ms = Some(sessions::lease_ms(lease_ms.unwrap_or(DEFAULT_LEASE_MS))?);
    } else if ping_ms.is_some() {
        return Err(options::PING_WITHOUT_SESSION);
    }
    let barge = options.has(BARGE);
    Ok((Acquire { permits, lease_ms, ids, session, ping_ms, priority, barge }, block))
}

fn acquire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    owner(args, 2)?;
    let (acquire, block) = parse(tx, args)?;
    if acquire.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let Some(timeout_ms) = block else {
        reply.null();
        return Ok(Flow::Done);
    };
    let rank = acquire.rank();
    let mut wait = Wait::on_keys([1], &SEMAPHORE, acquire, timeout_ms, Null::Bulk);
    wait.retry.label = Some(2);
    wait.retry.rank = rank;
    Ok(wait.into())
}

struct Granted {
    left: i64,
    token: u64,
    ids: Vec<Id>,
}

impl Acquire {
    /// Returns the rank of the request among the waiters.
    fn rank(&self) -> i64 {
        self.priority.saturating_neg()
    }

    fn take(&self, tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<Option<Granted>, CommandError> {
        let left = count::read(tx, key)?;
        let left = if self.ids { self.take_over(tx, key, left)? } else { left };
        let out = ids::count(tx, key)?;
        let Some(before) = left.filter(|left| *left >= self.permits) else { return Ok(None) };
        let left = before - self.permits;
        let deadline_ms = self.lease_ms.map(|lease_ms| tx.now().wall_ms().saturating_add(lease_ms));
        let order = tx.next_order();
        let lease = deadline_ms.map(|deadline_ms| Lease::new(deadline_ms, order));
        let ids: Vec<Id> = (0..if self.ids { self.permits } else { 0 }).map(|_| ids::new(tx)).collect();
        let token = records::next_grant(tx);
        count::write(tx, key, left);
        if self.ids {
            ids::give_out(tx, key, &ids, deadline_ms.unwrap_or(NEVER_MS))?;
        }
        self.note(
            tx,
            key,
            owner,
            (before, out),
            Hold { permits: self.permits, token, lease, id: None },
            &ids,
        );
        super::note_taken(tx, key, owner, self.permits, self.lease_ms);
        if let Some(lease_ms) = self.lease_ms.filter(|_| self.session) {
            session::begin(tx, token, key, owner, (lease_ms, self.ping_ms));
        }
        Ok(Some(Granted { left, token, ids }))
    }

    /// Gives back permits whose leases have ended, as Redisson does before it takes any. Their number is at most that
    /// of the wanted permits, plus the permits that are owed if the count is below zero.
    fn take_over(&self, tx: &mut Tx<'_>, key: &[u8], left: Option<i64>) -> Result<Option<i64>, CommandError> {
        let owed = left.unwrap_or(0).min(0).saturating_neg();
        let most = usize::try_from(self.permits.saturating_add(owed)).unwrap_or(usize::MAX);
        let over = ids::take_over(tx, key, most)?;
        if over == 0 {
            return Ok(left);
        }
        let left = left.unwrap_or(0).saturating_add(over);
        count::write(tx, key, left);
        super::note(tx, key, b"", HistoryCause::Expired, over, 0);
        if left > 0 {
            publish(tx, key, left);
        }
        Ok(Some(left))
    }

    /// Notes the owner of the permits.
    fn note(
        &self,
        tx: &mut Tx<'_>,
        key: &[u8],
        owner: &[u8],
        (left, out): (i64, i64),
        hold: Hold,
        ids: &[Id],
    ) {
        let live = super::account(tx, key, |account| account.holds.ids()).unwrap_or(0);
        // Redisson has taken back more of them than are out.
        let stale = live as i64 > out.saturating_mul(2).saturating_add(16);
        let live_ids: Option<std::collections::BTreeSet<Vec<u8>>> =
            stale.then(|| ids::all(tx, key).unwrap_or_default().into_iter().map(|(id, _)| id).collect());
        change_account(tx, key, left, out, |account| {
            if let Some(live) = live_ids {
                account.holds.keep_ids(|id| live.contains(&id[..]));
            }
            if !self.ids {
                return account.holds.add(owner, hold);
            }
            for id in ids {
                let one = Hold { permits: 1, lease: None, id: Some(*id), ..hold.clone() };
                account.holds.add(owner, one);
            }
        });
    }
}

impl Attempt for Acquire {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let (key, owner) = (&args[1], &args[2]);
        let queues = waited_ms.is_none() && !self.barge;
        if queues && tx.first_waiting(key, CLASS).is_some_and(|first| first.rank <= self.rank()) {
            count::read(tx, key)?;
            return Ok(false);
        }
        let Some(Granted { left, token, ids }) = self.take(tx, key, owner)? else { return Ok(false) };
        reply.map(5);
        for (name, value) in [
            ("permits", self.permits),
            ("left", left),
            ("token", token as i64),
            ("waited", waited_ms.unwrap_or(0) as i64),
        ] {
            reply.bulk(name.as_bytes());
            reply.integer(value);
        }
        reply.bulk(b"ids");
        reply.array(ids.len());
        ids.iter().for_each(|id| reply.bulk(ids::text(id).as_bytes()));
        Ok(true)
    }

    fn ready_at_ms(&self, tx: &mut Tx<'_>, argument: Argument<'_, '_>) -> Option<i64> {
        if self.ids { ids::first_deadline_ms(tx, argument(1)) } else { None }
    }
}
