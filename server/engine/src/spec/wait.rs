//! The wait of a command: its retry, its queues and its timeout.

use super::args::Args;
use super::error::CommandError;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{Signal, Tx, WaiterId};
use lockwheel_store::values::Value;
use smallvec::SmallVec;
use std::fmt::Debug;

/// The null reply of a command that may not wait, or whose wait has timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// A null bulk string.
    Bulk,
    /// A null array.
    Array,
    /// The number 0, for a command that replies a count.
    Zero,
    /// Two numbers 0, for a command that replies two counts.
    TwoZeros,
}

impl Null {
    pub(crate) fn write(self, reply: &mut dyn Reply) {
        match self {
            Null::Bulk => reply.null(),
            Null::Array => reply.null_array(),
            Null::Zero => reply.integer(0),
            Null::TwoZeros => {
                reply.array(2);
                reply.integer(0);
                reply.integer(0);
            }
        }
    }
}

/// A kind of readiness that commands wait for on a key, and the rule for retries of its waiters. Waiters are retried
/// when the key is signalled: the key has changed, or a waiter has left its queue.
#[derive(Debug)]
pub struct WaitClass {
    /// The name, which no other class has.
    pub name: &'static str,
    /// The name of the line that the waiters share with those of other classes. After a waiter that is not served, no
    /// later waiter of the line is retried. Mostly the class has a line of its own, under its own name.
    pub line: &'static str,
    /// Whether any waiter can be served if the key holds this value (`None`: the key is absent).
    pub accepts: fn(Option<&Value>) -> bool,
    /// The waiters that are retried.
    pub asking: Asking,
    /// Finds the waiters that need not queue, in their order. They are retried even after a waiter that was not served.
    pub out_of_turn: Option<OutOfTurn>,
    /// Whether the waiters count as blocked clients. Observers in tests do not.
    pub counts: bool,
}

/// Finds the waiters on a key that need not queue.
pub type OutOfTurn = fn(&Tx<'_>, &[u8], Signal) -> Vec<WaiterId>;

/// The waiters of a class that are retried when a key is signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// The waiters in the order of their places, up to the first that is not served; also when one leaves the queue.
    InOrder,
    /// All waiters: each waits for its own condition.
    All,
}

/// Writes a whole reply.
pub type Answer = Box<dyn FnOnce(&mut dyn Reply)>;

/// Returns an argument of a request in O(1), by its index. A request may have very many, and few of them are needed.
pub type Argument<'a, 'r> = &'a dyn Fn(usize) -> &'r [u8];

/// A parsed request on keys. The request is parsed once, on arrival, so that a retry parses and looks up nothing again.
pub trait Attempt: Debug + Send {
    /// Whether a retry can serve the request, as far as a look at few of its keys tells. Called before each retry. An
    /// attempt follows only if so.
    ///
    /// # Errors
    /// An error ends the wait.
    #[inline]
    fn may_serve(&self, _tx: &mut Tx<'_>, _argument: Argument<'_, '_>) -> Result<bool, CommandError> {
        Ok(true)
    }

    /// Serves the request if that is possible now. Returns whether it was served; then its whole reply is written.
    /// `args` is the original request; `waited_ms` the time waited on the monotonic clock, `None` at the first attempt.
    ///
    /// # Errors
    /// An error ends the wait. No key has changed then.
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError>;

    /// The answer on timeout, if it is not the null of the wait. `args` is the original request.
    fn on_timeout(&self, _tx: &Tx<'_>, _args: Args<'_>) -> Option<Answer> {
        None
    }

    /// The time of a retry without a signal, in wall milliseconds, for a request that time alone can serve. Called for
    /// the first waiter in the queue of its key, or of [`OnKeys::beside`].
    fn ready_at_ms(&self, _tx: &mut Tx<'_>, _argument: Argument<'_, '_>) -> Option<i64> {
        None
    }

    /// Removes the data that the request put into keys in order to wait. Called after the wait, whether the request was
    /// served or not; it is in no queue any more.
    fn leave(&self, _tx: &mut Tx<'_>, _args: Args<'_>) {}
}

/// A request that is retried when one of its keys is signalled.
#[derive(Debug)]
pub struct OnKeys {
    /// The indices of the arguments that are the keys.
    pub keys: SmallVec<[usize; 2]>,
    /// Another key, which no argument names. Its change, or its timer, retries the request, too.
    pub beside: Option<Box<[u8]>>,
    /// The readiness that the request waits for on each key.
    pub class: &'static WaitClass,
    /// The rank in the queues: a lower rank is further ahead.
    pub rank: i64,
    /// The index of the argument that names the waiter for display, if any: the owner that a native lock waits for.
    pub label: Option<usize>,
    /// Whether the client goes on during the wait. It has a ticket, and a push reports the end of the wait.
    pub by_ticket: bool,
    /// The attempt that is retried.
    pub attempt: Box<dyn Attempt>,
}

impl OnKeys {
    /// The keys in whose queues the request of these arguments waits.
    pub(crate) fn queues<'a>(&'a self, argv: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
        self.keys.iter().map(|&key| argv[key]).chain(self.beside.as_deref())
    }
}

/// The wait of a command that is not done. `R` describes the retry and its signals.
#[derive(Debug)]
pub struct Wait<R> {
    /// The retry and its signals.
    pub retry: R,
    /// The longest wait, in milliseconds. `None`: for ever.
    pub timeout_ms: Option<u64>,
    /// Whether the timeout runs in real time, independently of the test clock, instead of on the monotonic clock.
    pub real_time: bool,
    /// The answer on timeout.
    pub null: Null,
    /// The answer in scripts and transactions, which never wait. Mostly the same as `null`.
    pub null_at_once: Null,
}

impl<R> Wait<R> {
    /// Waits at most `timeout_ms` milliseconds of the monotonic clock.
    pub fn new(retry: R, timeout_ms: Option<u64>, null: Null) -> Self {
        Wait { retry, timeout_ms, real_time: false, null, null_at_once: null }
    }
}

impl Wait<OnKeys> {
    /// Waits for one or more keys, on the monotonic clock.
    pub fn on_keys(
        keys: impl IntoIterator<Item = usize>,
        class: &'static WaitClass,
        attempt: impl Attempt + 'static,
        timeout_ms: Option<u64>,
        null: Null,
    ) -> Self {
        let keys = keys.into_iter().collect();
        Wait::new(
            OnKeys {
                keys,
                beside: None,
                class,
                rank: 0,
                label: None,
                by_ticket: false,
                attempt: Box::new(attempt),
            },
            timeout_ms,
            null,
        )
    }
}
