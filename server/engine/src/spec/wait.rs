//! What a command waits for that is not done: for how long, what is tried again then, and when.

use super::args::Args;
use super::error::CommandError;
use crate::keyspace::{Tx, WaiterId};
use crate::values::Value;
use lockwheel_resp::Reply;
use smallvec::SmallVec;
use std::fmt::Debug;

/// Which nothing a command answers when it may not wait, or has waited long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// A null bulk string.
    Bulk,
    /// A null array.
    Array,
    /// The number 0, of a command that counts.
    Zero,
}

impl Null {
    /// Answers so.
    pub(crate) fn write(self, reply: &mut dyn Reply) {
        match self {
            Null::Bulk => reply.null(),
            Null::Array => reply.null_array(),
            Null::Zero => reply.integer(0),
        }
    }
}

/// A kind of readiness that commands wait for on a key, and how those who wait for it are asked when the key is
/// signalled: it has changed, or one of them has left the queue.
#[derive(Debug)]
pub struct WaitClass {
    /// Its name, which no other class has.
    pub name: &'static str,
    /// Whether to ask anybody when the key holds this value, or none.
    pub accepts: fn(Option<&Value>) -> bool,
    /// Who is asked.
    pub asking: Asking,
    /// Who is asked in any case, after one was not served: those who need not wait for their turn, in order of arrival.
    pub out_of_turn: Option<OutOfTurn>,
    /// Whether they count as blocked clients; a test that only looks on does not.
    pub counts: bool,
}

/// Finds those who wait for a key and need not wait for their turn.
pub type OutOfTurn = fn(&Tx<'_>, &[u8]) -> Vec<WaiterId>;

/// Which of the waiters of a class are asked when a key is signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// One after the other in order of arrival, up to the first who is not served: no later one would be. Asked again
    /// when one of them leaves the queue.
    InOrder,
    /// All of them: each waits for something of its own.
    All,
}

/// What a request on keys was resolved to when it came, so that nothing is parsed or looked up again while it waits.
pub trait Attempt: Debug + Send {
    /// Does what is asked for if that can be done now; whether it was done, and then its whole reply is written.
    /// `args` is the request as it came, `waited_ms` for how long it has been waiting, in milliseconds of the monotonic
    /// hand: `None` at first.
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
}

/// A request that is tried again when one of its keys is signalled.
#[derive(Debug)]
pub struct OnKeys {
    /// The arguments that are these keys.
    pub keys: SmallVec<[usize; 2]>,
    /// What it waits for on each.
    pub class: &'static WaitClass,
    /// The argument that names the waiter for people (the owner that a native lock waits for), if any.
    pub label: Option<usize>,
    /// What is tried again.
    pub attempt: Box<dyn Attempt>,
}

/// What a command that is not done waits for; `R` says what is tried again, and when.
#[derive(Debug)]
pub struct Wait<R> {
    /// What is tried again, and when.
    pub retry: R,
    /// For how long at the most, in milliseconds; `None`: for ever.
    pub timeout_ms: Option<u64>,
    /// Whether the timeout runs in real time, whatever the clock that a test turns shows, and not on the monotonic
    /// hand.
    pub real_time: bool,
    /// The answer when the time is over.
    pub null: Null,
    /// The answer in scripts and transactions, which never wait; the same but for a few commands.
    pub null_at_once: Null,
}

impl<R> Wait<R> {
    /// Waits for so many milliseconds of the monotonic hand at the most.
    pub fn new(retry: R, timeout_ms: Option<u64>, null: Null) -> Self {
        Wait { retry, timeout_ms, real_time: false, null, null_at_once: null }
    }
}

impl Wait<OnKeys> {
    /// Waits for one or more keys, on the monotonic hand.
    pub fn on_keys(
        keys: impl IntoIterator<Item = usize>,
        class: &'static WaitClass,
        attempt: impl Attempt + 'static,
        timeout_ms: Option<u64>,
        null: Null,
    ) -> Self {
        let keys = keys.into_iter().collect();
        Wait::new(OnKeys { keys, class, label: None, attempt: Box::new(attempt) }, timeout_ms, null)
    }
}
