//! A command's wait: for how long, what is retried then, and when.

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
    /// The number 0, of a command that counts.
    Zero,
    /// Two numbers 0, of a command that counts two things.
    TwoZeros,
}

impl Null {
    /// Writes it.
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

/// A kind of readiness that commands wait for on a key, and how its waiters are retried when the key is signalled: it
/// has changed, or one of them has left the queue.
#[derive(Debug)]
pub struct WaitClass {
    /// Its name, which no other class has.
    pub name: &'static str,
    /// The line in which its waiters stand, with those of other classes: after one that is not served, no later
    /// one of the line is retried. Mostly the class alone, under its own name.
    pub line: &'static str,
    /// Whether any waiter can be served when the key holds this value, or none.
    pub accepts: fn(Option<&Value>) -> bool,
    /// Which waiters are retried.
    pub asking: Asking,
    /// The waiters to retry in any case, after one was not served: those that need not queue, in their order.
    pub out_of_turn: Option<OutOfTurn>,
    /// Whether they count as blocked clients; observers in tests do not.
    pub counts: bool,
}

/// Finds the waiters on a key that need not queue.
pub type OutOfTurn = fn(&Tx<'_>, &[u8], Signal) -> Vec<WaiterId>;

/// Which of a class' waiters are retried when a key is signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// One after the other in the order of their places, up to the first that is not served: no later one would be.
    /// Retried when one of them leaves the queue.
    InOrder,
    /// All of them: each waits for its own condition.
    All,
}

/// Writes a whole reply.
pub type Answer = Box<dyn FnOnce(&mut dyn Reply)>;

/// What a request on keys was parsed into when it came, so that nothing is parsed or looked up again while it waits.
pub trait Attempt: Debug + Send {
    /// Does what was requested if that is possible now; whether it was done, and then its whole reply is written.
    /// `args` is the original request, `waited_ms` how long it has been waiting, in ms of the monotonic clock: `None`
    /// at first.
    ///
    /// # Errors
    /// Ends the wait; then nothing has changed.
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError>;

    /// What it is answered when its wait has ended in vain, where that is not the null of its wait. `args` is the
    /// original request.
    fn in_vain(&self, _tx: &Tx<'_>, _args: Args<'_>) -> Option<Answer> {
        None
    }

    /// When it is to be retried though nothing changes until then, because time alone serves it; in wall milliseconds.
    /// Asked of the first in the queue of its key, or of the one beside.
    fn ready_at_ms(&self, _tx: &mut Tx<'_>, _args: Args<'_>) -> Option<i64> {
        None
    }

    /// The wait is over, whether the request was served or not, and it is in no queue any more: takes back what it put
    /// into keys in order to wait.
    fn leave(&self, _tx: &mut Tx<'_>, _args: Args<'_>) {}
}

/// A request that is retried when one of its keys is signalled.
#[derive(Debug)]
pub struct OnKeys {
    /// The arguments that are these keys.
    pub keys: SmallVec<[usize; 2]>,
    /// Another key whose change retries it, and on whose timer it is retried: one that no argument names.
    pub beside: Option<Box<[u8]>>,
    /// The readiness that it waits for on each.
    pub class: &'static WaitClass,
    /// Its rank in the queues: the lower, the further ahead.
    pub rank: i64,
    /// The argument that names the waiter for display (the owner that a native lock waits for), if any.
    pub label: Option<usize>,
    /// Whether the client goes on meanwhile: it has a ticket, and a push tells it how the wait has ended.
    pub by_ticket: bool,
    /// What is retried.
    pub attempt: Box<dyn Attempt>,
}

impl OnKeys {
    /// The keys in whose queues the request of these arguments waits.
    pub(crate) fn queues<'a>(&'a self, argv: &'a [&'a [u8]]) -> impl Iterator<Item = &'a [u8]> {
        self.keys.iter().map(|&key| argv[key]).chain(self.beside.as_deref())
    }
}

/// The wait of a command that is not done; `R` says what is retried, and when.
#[derive(Debug)]
pub struct Wait<R> {
    /// What is retried, and when.
    pub retry: R,
    /// The longest wait, in milliseconds; `None`: for ever.
    pub timeout_ms: Option<u64>,
    /// Whether the timeout runs in real time, whatever the test's clock shows, and not on the monotonic clock.
    pub real_time: bool,
    /// The answer on timeout.
    pub null: Null,
    /// The answer in scripts and transactions, which never wait; mostly the same.
    pub null_at_once: Null,
}

impl<R> Wait<R> {
    /// Waits at most so many milliseconds of the monotonic clock.
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
