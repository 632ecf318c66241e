//! What a handler answers besides its reply: done, or not yet.

use super::error::CommandError;
use lockwheel_resp::Reply;
use smallvec::SmallVec;

/// What a handler comes back with that never waits: its whole reply is written.
pub type Outcome = Result<(), CommandError>;

/// What a handler comes back with that may wait.
pub type BlockingOutcome = Result<Flow, CommandError>;

/// Whether a command that may wait is done.
#[derive(Debug)]
pub enum Flow {
    /// It has written its whole reply.
    Done,
    /// It has written nothing and changed nothing; call it again when one of its keys is signalled.
    NotYet(Wait),
}

/// The kinds of readiness that commands wait for on a key.
///
/// When a signalled key does not serve the first waiter of a kind, it serves no later one of that kind either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitClass {
    /// The key holds a list.
    List,
    /// The key holds a sorted set.
    SortedSet,
    /// The lock that the key is can be had.
    Lock,
    /// A state that a test waits for; each such waiter is asked.
    State,
    /// Replicas that have the writes: there are none, so only time ends the wait.
    Replicas,
}

impl WaitClass {
    /// How many kinds there are.
    pub const COUNT: usize = 5;
}

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

/// What a command that is not done waits for.
#[derive(Debug)]
pub struct Wait {
    /// The arguments that are the keys it waits on.
    pub keys: SmallVec<[usize; 2]>,
    /// What it waits for on each.
    pub class: WaitClass,
    /// For how long at the most, in milliseconds of the monotonic hand; `None`: for ever.
    pub timeout_ms: Option<u64>,
    /// Whether the timeout runs in real time, whatever the clock that a test turns shows.
    pub real_time: bool,
    /// The argument that names the waiter for people (the owner that a native lock waits for), if any.
    pub label: Option<usize>,
    /// The answer when the time is over.
    pub null: Null,
    /// The answer in scripts and transactions, which never wait; the same but for a few commands.
    pub null_at_once: Null,
}

impl Wait {
    /// Waits for so many milliseconds of the monotonic hand (`None`: for ever), then answers 0.
    pub fn for_replicas(timeout_ms: Option<u64>) -> Self {
        Wait::on_keys([], WaitClass::Replicas, timeout_ms, Null::Zero)
    }

    /// Whether it is asked again after whatever happens, as no key stands for what it waits for.
    pub fn is_asked_always(&self) -> bool {
        self.keys.is_empty() && self.class == WaitClass::State
    }

    /// Waits for one or more keys, on the monotonic hand.
    pub fn on_keys(
        keys: impl IntoIterator<Item = usize>,
        class: WaitClass,
        timeout_ms: Option<u64>,
        null: Null,
    ) -> Self {
        Wait {
            keys: keys.into_iter().collect(),
            class,
            timeout_ms,
            real_time: false,
            label: None,
            null,
            null_at_once: null,
        }
    }
}
