//! The options of `LOCK.ACQUIRE`, and what they choose.

use super::super::layouts::{Layout, fair};
use super::super::ledger::{Delay, Detail};
use super::super::options::{self, DEFAULT_LEASE_MS, PING_WITHOUT_SESSION, block_ms};
use super::super::sessions;
use super::limit::Limit;
use super::refusal::check_pushes;
use crate::spec::{CommandError, CommandGrammar, ParsedArgs, Symbol, SymbolSet, errors, grammar, symbols};
use lockwheel_resp::Protocol;
use lockwheel_store::keyspace::Tx;

/// A synopsis that ends with the options: these arguments, then these modes.
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

/// The grammar of `LOCK.ACQUIRE`.
pub(super) const ACQUIRE: &CommandGrammar = grammar!(with_options!("key owner", "SHARED | EXCLUSIVE | FAIR"));
/// The grammar of `LOCK.MACQUIRE`.
pub(super) const MACQUIRE: &CommandGrammar =
    grammar!(with_options!("numkeys key [key ...] owner", "SHARED | EXCLUSIVE"));
/// The grammar of `LOCK.MACQUIRE` with `FAIR`: it has the symbols of `ACQUIRE`, and that mode has an error of its own.
pub(super) const MACQUIRE_IN_ANY_MODE: &CommandGrammar =
    grammar!(with_options!("numkeys key [key ...] owner", "SHARED | EXCLUSIVE | FAIR"));

symbols!(ACQUIRE: SHARED, EXCLUSIVE, FAIR, EX, PX, BLOCK, PRIORITY, NOREENTER, MAXHOLDS, FENCED, STRING);
symbols!(ACQUIRE: SESSION, PING, FENCE, DELAY, DATA, GETHOLDER, ASYNC);

/// Scores are doubles, and those behind add up: a time beyond this is as good as none.
const FAIR_WAIT_MAX_MS: i64 = 1 << 40;

/// What a holder can say of itself, in bytes.
const DATA_MAX: usize = 4096;

const FAIR_PRIORITY: CommandError =
    CommandError::text("ERR syntax error: FAIR excludes PRIORITY, since its queue is in order of arrival");
const STRING_MODE: CommandError =
    CommandError::text("ERR syntax error: LAYOUT STRING excludes SHARED, EXCLUSIVE and FAIR");
const DATA_TOO_LONG: CommandError = CommandError::text("ERR the data of a hold is at most 4096 bytes");

/// What a request for a lock asks for.
#[derive(Debug)]
pub(in crate::locks) struct Options {
    /// How the lock is to stand in its key.
    pub(in crate::locks) layout: Layout,
    pub(in crate::locks) lease_ms: i64,
    /// `None`: do not wait. `Some(None)`: wait for ever.
    pub(in crate::locks) block: Option<Option<u64>>,
    /// Who has a higher one is served before those with a lower one.
    pub(in crate::locks) priority: i64,
    /// How often the owner may come to hold it.
    pub(in crate::locks) limit: Limit,
    /// The token is Redisson's counter, and not the number of the grant.
    pub(in crate::locks) fenced: bool,
    /// The server renews the lease while the connection lives, and gives the lock back when it closes.
    pub(in crate::locks) session: bool,
    /// How long the client of a session may say nothing.
    pub(in crate::locks) ping_ms: Option<i64>,
    /// After a loss nobody else gets the lock for so long.
    pub(in crate::locks) delay_ms: Option<i64>,
    /// What the holder says of itself.
    pub(in crate::locks) data: Option<Box<[u8]>>,
    /// Who is refused is told who holds the lock.
    pub(in crate::locks) get_holder: bool,
    /// Who would wait is answered at once, and told of the grant by a push.
    pub(in crate::locks) asynchronous: bool,
    /// The resource whose highest token the grant raises.
    pub(in crate::locks) fence: Option<Box<[u8]>>,
}

/// The options that many requests have. The others are looked for only if there are any.
const USUAL: SymbolSet = SymbolSet::of(&[EX, PX, BLOCK]);

impl Options {
    /// The options of a request that names none.
    const NONE: Options = Options {
        layout: Layout::Plain,
        lease_ms: DEFAULT_LEASE_MS,
        block: None,
        priority: 0,
        limit: Limit::None,
        fenced: false,
        session: false,
        ping_ms: None,
        delay_ms: None,
        data: None,
        get_holder: false,
        asynchronous: false,
        fence: None,
    };

    /// The options of a request of `command`: one of those whose grammars have them.
    #[inline]
    pub(in crate::locks) fn of(
        tx: &Tx<'_>,
        args: &ParsedArgs<'_>,
        command: &str,
    ) -> Result<Self, CommandError> {
        let mut options = Options::NONE;
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

/// The layout that a request asks for. A string knows no modes; a fair queue has an order of its own.
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

/// The time for which an owner that waits so long stands in the queue of a fair lock.
fn fair_wait_ms(block: Option<Option<u64>>) -> i64 {
    let block = block.flatten().and_then(|ms| i64::try_from(ms).ok());
    block.map_or(fair::WAIT_MS, |ms| ms.min(FAIR_WAIT_MAX_MS))
}

fn limit(args: &ParsedArgs<'_>) -> Result<Limit, CommandError> {
    if args.has(NOREENTER) {
        return Ok(Limit::Once);
    }
    Ok(args.integer(MAXHOLDS)?.map_or(Limit::None, Limit::Most))
}

/// The milliseconds of `DELAY`: their end is an instant that the wall clock can show.
fn delay_ms(tx: &Tx<'_>, args: &ParsedArgs<'_>) -> Result<Option<i64>, CommandError> {
    if !args.has(DELAY) {
        return Ok(None);
    }
    let delay = DELAY.at_most(i64::MAX - tx.now().wall_ms().max(0));
    args.integer_or(delay, errors::OUT_OF_RANGE_POSITIVE)
}

impl Options {
    /// The rank in the queue of the lock: the lower, the further ahead.
    pub(super) fn rank(&self) -> i64 {
        self.priority.saturating_neg()
    }

    /// Whether more is to be known of the hold than who has it.
    #[inline]
    pub(super) fn describes(&self) -> bool {
        self.data.is_some() || self.delay_ms.is_some()
    }

    /// How long the request waits, if it does: one that leaves its client a ticket for ever, unless told.
    pub(super) fn wait(&self) -> Option<Option<u64>> {
        self.block.or(self.asynchronous.then_some(None))
    }

    /// Checks that the client can be told by a push what it asks to be told so.
    pub(super) fn check_pushes(&self, tx: &Tx<'_>, protocol: Protocol) -> Result<(), CommandError> {
        if self.asynchronous { check_pushes(tx, protocol) } else { Ok(()) }
    }

    /// What is to be known of it; a fenced one has this token.
    pub(super) fn detail(&self, token: Option<u64>) -> Detail {
        let (layout, mode) = self.layout.kind();
        let delay = self.delay_ms.map(|ms| Delay { ms, layout, mode });
        Detail { token, data: self.data.clone(), delay }
    }
}

/// Checks what a holder says of itself.
fn data(data: &[u8]) -> Result<&[u8], CommandError> {
    if data.len() > DATA_MAX { Err(DATA_TOO_LONG) } else { Ok(data) }
}
