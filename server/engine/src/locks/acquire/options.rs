//! The options of `LOCK.ACQUIRE`.

use super::super::layouts::{Layout, fair};
use super::super::ledger::{Delay, Detail};
use super::super::options::{self, DEFAULT_LEASE_MS, PING_WITHOUT_SESSION, block_ms};
use super::super::sessions;
use super::limit::HoldLimit;
use super::refusal::check_pushes;
use crate::spec::{CommandError, CommandGrammar, ParsedArgs, Symbol, SymbolSet, errors, grammar, symbols};
use lockwheel_resp::Protocol;
use lockwheel_store::keyspace::Tx;

/// Builds a synopsis that ends with the options: these arguments, then these modes.
macro_rules! with_options {
    ($head:literal, $modes:literal) => {
        concat!(
            $head,
            " [mode: ",
            $modes,
            "] [EX seconds:1.. | PX milliseconds:1..] [BLOCK milliseconds:0..] ",
            "[PRIORITY priority] [NOREENTER | MAXHOLDS count:1..] [FENCED] [LAYOUT (layout: HASH | STRING)] ",
            "[SESSION] [PING milliseconds:100..] [FENCE resource] [DELAY milliseconds:1..] [DATA data] ",
            "[GETHOLDER] [ASYNC]"
        )
    };
}

pub(super) const ACQUIRE: &CommandGrammar = grammar!(with_options!("key owner", "SHARED | EXCLUSIVE | FAIR"));
pub(super) const MACQUIRE: &CommandGrammar =
    grammar!(with_options!("numkeys key [key ...] owner", "SHARED | EXCLUSIVE"));
/// The grammar of `LOCK.MACQUIRE` with `FAIR`: it has the symbols of `ACQUIRE`, so that this mode gets its own error.
pub(super) const MACQUIRE_IN_ANY_MODE: &CommandGrammar =
    grammar!(with_options!("numkeys key [key ...] owner", "SHARED | EXCLUSIVE | FAIR"));

symbols!(ACQUIRE: SHARED, EXCLUSIVE, FAIR, EX, PX, BLOCK, PRIORITY, NOREENTER, MAXHOLDS, FENCED, STRING);
symbols!(ACQUIRE: SESSION, PING, FENCE, DELAY, DATA, GETHOLDER, ASYNC);

/// The longest wait in a fair queue. Scores are doubles and waits add up: a longer time is as good as none.
const MAX_FAIR_WAIT_MS: i64 = 1 << 40;

/// The largest size of a holder's data, in bytes.
const MAX_DATA_BYTES: usize = 4096;

const FAIR_PRIORITY: CommandError = CommandError::text(
    "ERR syntax error: FAIR and PRIORITY exclude each other, since a fair queue is in order of arrival",
);
const STRING_MODE: CommandError =
    CommandError::text("ERR syntax error: LAYOUT STRING excludes SHARED, EXCLUSIVE and FAIR");
const DATA_TOO_LONG: CommandError = CommandError::text("ERR DATA is longer than 4096 bytes");

#[derive(Debug)]
pub(in crate::locks) struct AcquireOptions {
    pub(in crate::locks) layout: Layout,
    pub(in crate::locks) lease_ms: i64,
    /// The time to wait, in milliseconds. `None`: do not wait. `Some(None)`: wait for ever.
    pub(in crate::locks) block: Option<Option<u64>>,
    /// The priority: waiters with a higher one are served first.
    pub(in crate::locks) priority: i64,
    pub(in crate::locks) limit: HoldLimit,
    /// Whether the token comes from Redisson's counter, instead of the number of the grant.
    pub(in crate::locks) fenced: bool,
    /// Whether the server renews the lease while the connection lives, and then releases the lock.
    pub(in crate::locks) session: bool,
    /// The longest silence of a session's client, in milliseconds.
    pub(in crate::locks) ping_ms: Option<i64>,
    /// The time after a loss during which nobody else gets the lock, in milliseconds.
    pub(in crate::locks) delay_ms: Option<i64>,
    pub(in crate::locks) data: Option<Box<[u8]>>,
    /// Whether a refused client is told who holds the lock.
    pub(in crate::locks) get_holder: bool,
    /// Whether a client that would wait is answered at once, and notified of the grant by a push.
    pub(in crate::locks) asynchronous: bool,
    /// The resource whose highest token the grant raises.
    pub(in crate::locks) fence: Option<Box<[u8]>>,
}

/// The options that many requests have. The others are read only if there are any.
const USUAL: SymbolSet = SymbolSet::of(&[EX, PX, BLOCK]);

impl AcquireOptions {
    const NONE: AcquireOptions = AcquireOptions {
        layout: Layout::Plain,
        lease_ms: DEFAULT_LEASE_MS,
        block: None,
        priority: 0,
        limit: HoldLimit::None,
        fenced: false,
        session: false,
        ping_ms: None,
        delay_ms: None,
        data: None,
        get_holder: false,
        asynchronous: false,
        fence: None,
    };

    /// Reads the options of a request of `command`, whose grammar has them.
    #[inline]
    pub(in crate::locks) fn of(
        tx: &Tx<'_>,
        args: &ParsedArgs<'_>,
        command: &str,
    ) -> Result<Self, CommandError> {
        let mut options = AcquireOptions::NONE;
        if args.has_any() {
            options.read_usual(tx, args, command)?;
        }
        if args.has_others(USUAL) {
            options.read_others(tx, args)?;
        }
        Ok(options)
    }

    fn read_usual(&mut self, tx: &Tx<'_>, args: &ParsedArgs<'_>, command: &str) -> Result<(), CommandError> {
        let least_ms = sessions::least_ms(args.has(SESSION));
        let lease_ms = options::lease_from_ms(tx, args, &[(EX, 1000), (PX, 1)], (command, least_ms))?;
        self.lease_ms = lease_ms.unwrap_or(DEFAULT_LEASE_MS);
        self.block = block_ms(args, BLOCK)?;
        Ok(())
    }

    fn read_others(&mut self, tx: &Tx<'_>, args: &ParsedArgs<'_>) -> Result<(), CommandError> {
        self.priority = args.integer(PRIORITY)?.unwrap_or(0);
        self.layout = layout(args, self.block)?;
        self.limit = limit(args)?;
        self.fenced = args.has(FENCED);
        self.session = args.has(SESSION);
        self.ping_ms = sessions::ping_ms(args, PING)?;
        self.delay_ms = delay_ms(tx, args)?;
        self.data = args.value(DATA).map(data).transpose()?.map(Box::from);
        self.get_holder = args.has(GETHOLDER);
        self.asynchronous = args.has(ASYNC);
        self.fence = args.value(FENCE).map(Box::from);
        if self.session {
            sessions::lease_ms(self.lease_ms)?;
        } else if self.ping_ms.is_some() {
            return Err(PING_WITHOUT_SESSION);
        }
        Ok(())
    }
}

/// Returns the layout that a request asks for. A string has no modes; a fair queue has an order of its own.
fn layout(args: &ParsedArgs<'_>, block: Option<Option<u64>>) -> Result<Layout, CommandError> {
    const MODES: &[(Symbol, Layout)] = &[
        (SHARED, Layout::Shared),
        (EXCLUSIVE, Layout::Exclusive),
        (FAIR, Layout::Fair { wait_ms: fair::WAIT_MS }),
    ];
    match args.one_of(MODES) {
        Some(Layout::Fair { .. }) if args.has(PRIORITY) => Err(FAIR_PRIORITY),
        Some(_) if args.has(STRING) => Err(STRING_MODE),
        Some(Layout::Fair { .. }) => Ok(Layout::Fair { wait_ms: fair_wait_ms(block) }),
        Some(mode) => Ok(mode),
        None if args.has(STRING) => Ok(Layout::Text),
        None => Ok(Layout::Plain),
    }
}

fn fair_wait_ms(block: Option<Option<u64>>) -> i64 {
    let block = block.flatten().and_then(|ms| i64::try_from(ms).ok());
    block.map_or(fair::WAIT_MS, |ms| ms.min(MAX_FAIR_WAIT_MS))
}

fn limit(args: &ParsedArgs<'_>) -> Result<HoldLimit, CommandError> {
    if args.has(NOREENTER) {
        return Ok(HoldLimit::Once);
    }
    Ok(args.integer(MAXHOLDS)?.map_or(HoldLimit::None, HoldLimit::Most))
}

/// Returns the milliseconds of `DELAY`. They end at an instant that the wall clock can show.
fn delay_ms(tx: &Tx<'_>, args: &ParsedArgs<'_>) -> Result<Option<i64>, CommandError> {
    if !args.has(DELAY) {
        return Ok(None);
    }
    let delay = DELAY.at_most(i64::MAX - tx.now().wall_ms().max(0));
    args.integer_or(delay, errors::OUT_OF_RANGE_POSITIVE)
}

impl AcquireOptions {
    /// Returns the rank in the queue of the lock. A lower rank is further ahead.
    pub(super) fn rank(&self) -> i64 {
        self.priority.saturating_neg()
    }

    /// Whether the hold gets details beyond its owner.
    #[inline]
    pub(super) fn describes(&self) -> bool {
        self.data.is_some() || self.delay_ms.is_some()
    }

    /// Returns the time that the request waits. A request with a ticket waits for ever, unless it gives a time.
    pub(super) fn wait(&self) -> Option<Option<u64>> {
        self.block.or(self.asynchronous.then_some(None))
    }

    /// Checks that the client can receive the push that it asks for.
    pub(super) fn check_pushes(&self, tx: &Tx<'_>, protocol: Protocol) -> Result<(), CommandError> {
        if self.asynchronous { check_pushes(tx, protocol) } else { Ok(()) }
    }

    pub(super) fn detail(&self, token: Option<u64>) -> Detail {
        let (layout, mode) = self.layout.kind();
        let delay = self.delay_ms.map(|ms| Delay { ms, layout, mode });
        Detail { token, data: self.data.clone(), delay }
    }
}

fn data(data: &[u8]) -> Result<&[u8], CommandError> {
    if data.len() > MAX_DATA_BYTES { Err(DATA_TOO_LONG) } else { Ok(data) }
}
