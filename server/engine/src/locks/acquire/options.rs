//! The options of `LOCK.ACQUIRE`, and what they choose.

use super::super::layouts::{Layout, fair};
use super::super::ledger::{Delay, Detail};
use super::super::options::{DEFAULT_LEASE_MS, PING_WITHOUT_SESSION, block_ms, is_given, lease_from_ms};
use super::super::sessions;
use super::limit::Limit;
use super::refusal::check_pushes;
use crate::keyspace::Tx;
use crate::spec::{Args, CommandError, errors};
use lockwheel_resp::Protocol;

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

/// The options without a value.
const FLAGS: [&str; 8] =
    ["shared", "exclusive", "fair", "noreenter", "fenced", "session", "getholder", "async"];

/// Options as they are read, each at most once.
#[derive(Default)]
struct Given<'a> {
    /// The argument at which they begin.
    begin: usize,
    mode: Option<Layout>,
    lease_ms: Option<i64>,
    block: Option<Option<u64>>,
    priority: Option<i64>,
    limit: Option<Limit>,
    layout: Option<&'a [u8]>,
    ping_ms: Option<i64>,
    delay_ms: Option<i64>,
    data: Option<&'a [u8]>,
    fence: Option<&'a [u8]>,
    fenced: Option<()>,
    session: Option<()>,
    get_holder: Option<()>,
    asynchronous: Option<()>,
}

impl Options {
    /// Reads the options of `command` from argument `at` to the end, in any order.
    pub(in crate::locks) fn parse(
        tx: &Tx<'_>,
        args: Args<'_>,
        mut at: usize,
        command: &str,
    ) -> Result<Self, CommandError> {
        let mut given = Given { begin: at, ..Given::default() };
        while at < args.len() {
            at = given.word(args, at)?.map_or_else(|| given.pair(tx, args, at, command), Ok)?;
        }
        given.options()
    }
}

impl<'a> Given<'a> {
    /// Reads an option of one word at argument `at`; where the next one begins, `None` when it is no such option.
    fn word(&mut self, args: Args<'a>, at: usize) -> Result<Option<usize>, CommandError> {
        let is = |word| args.is(at, word);
        if is("shared") {
            once(&mut self.mode, Layout::Shared)?;
        } else if is("exclusive") {
            once(&mut self.mode, Layout::Exclusive)?;
        } else if is("fair") {
            once(&mut self.mode, Layout::Fair)?;
        } else if is("noreenter") {
            once(&mut self.limit, Limit::Once)?;
        } else if is("fenced") {
            once(&mut self.fenced, ())?;
        } else if is("session") {
            once(&mut self.session, ())?;
        } else if is("getholder") {
            once(&mut self.get_holder, ())?;
        } else if is("async") {
            once(&mut self.asynchronous, ())?;
        } else {
            return Ok(None);
        }
        Ok(Some(at + 1))
    }

    /// Reads an option with a value at argument `at`; where the next one begins.
    fn pair(&mut self, tx: &Tx<'_>, args: Args<'a>, at: usize, command: &str) -> Result<usize, CommandError> {
        let is = |word| args.is(at, word);
        let value = || args.get(at + 1).ok_or(errors::SYNTAX);
        let least_ms = || sessions::least_ms(is_given(args, self.begin, "session", &FLAGS));
        if let Some(ms) = lease_from_ms(tx, args, at, command, least_ms)? {
            once(&mut self.lease_ms, ms)?;
        } else if is("block") {
            once(&mut self.block, block_ms(args, at + 1)?)?;
        } else if is("priority") {
            once(&mut self.priority, value().and_then(|_| args.int(at + 1))?)?;
        } else if is("maxholds") {
            once(&mut self.limit, Limit::parse(args, at + 1)?)?;
        } else if is("layout") {
            once(&mut self.layout, value()?)?;
        } else if is("ping") {
            once(&mut self.ping_ms, sessions::ping_ms(args, at + 1)?)?;
        } else if is("delay") {
            once(&mut self.delay_ms, delay_ms(tx, args, at + 1)?)?;
        } else if is("data") {
            once(&mut self.data, data(value()?)?)?;
        } else if is("fence") {
            once(&mut self.fence, value()?)?;
        } else {
            return Err(errors::SYNTAX);
        }
        Ok(at + 2)
    }

    /// What they choose together.
    fn options(self) -> Result<Options, CommandError> {
        let layout = self.layout()?;
        if self.session.is_some() {
            sessions::lease_ms(self.lease_ms.unwrap_or(DEFAULT_LEASE_MS))?;
        } else if self.ping_ms.is_some() {
            return Err(PING_WITHOUT_SESSION);
        }
        let options = Options {
            layout,
            lease_ms: self.lease_ms.unwrap_or(DEFAULT_LEASE_MS),
            block: self.block,
            priority: self.priority.unwrap_or(0),
            limit: self.limit.unwrap_or(Limit::None),
            fenced: self.fenced.is_some(),
            session: self.session.is_some(),
            ping_ms: self.ping_ms,
            delay_ms: self.delay_ms,
            data: self.data.map(Box::from),
            get_holder: self.get_holder.is_some(),
            asynchronous: self.asynchronous.is_some(),
            fence: self.fence.map(Box::from),
        };
        Ok(options)
    }

    /// A string knows no modes; a fair queue has an order of its own.
    fn layout(&self) -> Result<Layout, CommandError> {
        match (self.mode, self.layout) {
            (Some(Layout::Fair), _) if self.priority.is_some() => Err(FAIR_PRIORITY),
            (mode, None) => Ok(mode.unwrap_or(Layout::Plain)),
            (mode, Some(word)) if word.eq_ignore_ascii_case(b"hash") => Ok(mode.unwrap_or(Layout::Plain)),
            (None, Some(word)) if word.eq_ignore_ascii_case(b"string") => Ok(Layout::Text),
            (Some(_), Some(word)) if word.eq_ignore_ascii_case(b"string") => Err(STRING_MODE),
            _ => Err(errors::SYNTAX),
        }
    }
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

    /// How long the owner stands in the queue of a fair lock.
    pub(super) fn fair_wait_ms(&self) -> i64 {
        let block = self.block.flatten().and_then(|ms| i64::try_from(ms).ok());
        block.map_or(fair::WAIT_MS, |ms| ms.min(FAIR_WAIT_MAX_MS))
    }
}

/// The milliseconds of `DELAY`, argument `at`.
fn delay_ms(tx: &Tx<'_>, args: Args<'_>, at: usize) -> Result<i64, CommandError> {
    args.get(at).ok_or(errors::SYNTAX)?;
    let most = i64::MAX - tx.now().wall_ms().max(0);
    args.int_in(at, 1, most, errors::OUT_OF_RANGE_POSITIVE)
}

/// Checks what a holder says of itself.
fn data(data: &[u8]) -> Result<&[u8], CommandError> {
    if data.len() > DATA_MAX { Err(DATA_TOO_LONG) } else { Ok(data) }
}

/// Takes an option that may be given once.
fn once<T>(option: &mut Option<T>, value: T) -> Result<(), CommandError> {
    if option.replace(value).is_none() { Ok(()) } else { Err(errors::SYNTAX) }
}
