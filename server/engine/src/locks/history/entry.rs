//! One thing that happened to a lock, or to those who use it.

use super::names::Name;
use super::times::Since;

/// Names of constants, and how replies spell them; `listed`: with a list of all.
macro_rules! words {
    (listed $(#[$about:meta])* $kind:ident { $($(#[$doc:meta])* $name:ident = $text:literal,)* }) => {
        words! { $(#[$about])* $kind { $($(#[$doc])* $name = $text,)* } }

        impl $kind {
            /// All of them.
            pub(crate) const ALL: &[Self] = &[$($kind::$name,)*];
        }
    };
    ($(#[$about:meta])* $kind:ident { $($(#[$doc:meta])* $name:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $kind { $($(#[$doc])* $name,)* }

        impl $kind {
            /// As replies spell it.
            pub(crate) fn name(self) -> &'static str {
                match self { $($kind::$name => $text,)* }
            }
        }
    };
}

words! { listed
    /// What happened.
    Event {
        /// An owner has come to hold a lock.
        Acquired = "acquired",
        /// A holder holds it once more.
        Reentered = "reentered",
        /// Its lease was set anew.
        Renewed = "renewed",
        /// A holder has given back a hold; `holds` says how many are left.
        Released = "released",
        /// A hold has ended that its owner did not give back; `cause` says how.
        Lost = "lost",
        /// A hold is of another mode.
        Converted = "converted",
        /// A hold is another owner's.
        Transferred = "transferred",
        /// Somebody begins to wait.
        Queued = "queued",
        /// Somebody waits no longer: it was not served, or no other entry tells of that.
        LeftQueue = "left-queue",
        /// A request for a lock was refused.
        Refused = "refused",
        /// Somebody who does not hold a lock would give it back.
        ReleaseRefused = "release-refused",
        /// Somebody who does not hold a lock would renew it.
        RenewalRefused = "renewal-refused",
        /// Permits of a semaphore were taken or given back.
        Permits = "permits",
        /// A declared section was entered: LOCK.ENTER.
        Entered = "entered",
        /// It was left: LOCK.LEAVE.
        Left = "left",
        /// A fenced write was accepted.
        Fenced = "fenced",
        /// A fenced write was refused.
        FenceRefused = "fence-refused",
        /// A habit that goes wrong some day; `cause` says which.
        Habit = "habit",
        /// A test has turned a clock.
        Clock = "clock",
        /// A fault has acted.
        Fault = "fault",
        /// A client has connected.
        Connect = "connect",
        /// A client is gone.
        Disconnect = "disconnect",
        /// LOCK.MARK.
        Mark = "mark",
    }
}

words! {
    /// Why.
    Cause {
        /// There is no more to say.
        None = "",
        /// The owner gave it back.
        Released = "released",
        /// The lease ran out.
        Expired = "expired",
        /// A script removed it without naming its owner.
        Forced = "forced",
        /// A bare command removed it.
        Deleted = "deleted",
        /// The key was given another value.
        Overwritten = "overwritten",
        /// The client is gone.
        Disconnected = "disconnected",
        /// The hold is another owner's.
        Transferred = "transferred",
        /// The server has failed over.
        FailedOver = "failed-over",
        /// SWAPDB has brought the key into another database, where the hold goes on.
        Swapped = "swapped",
        /// MIGRATE has sent the key to another server, where the hold goes on.
        Migrated = "migrated",
        /// The time to wait was over.
        Timeout = "timeout",
        /// CLIENT UNBLOCK or LOCK.CANCEL.
        Unblocked = "unblocked",
        /// An error ended the wait.
        Error = "error",
        /// The wait was in a cycle, or would have closed one.
        Deadlock = "deadlock",
        /// Another has taken it out of the queue.
        Evicted = "evicted",
        /// The owner asked and was answered.
        Served = "served",
        /// SET NX without a lease, then EXPIRE.
        LateLease = "late-lease",
        /// A text that was set by NX without a lease is used as a lock.
        NoLease = "no-lease",
        /// SET without NX of what is given back by a comparison.
        PlainSet = "plain-set",
        /// KEYS.
        Keys = "keys",
        /// Permits: the semaphore was made.
        Init = "init",
        /// Permits: there are more of them, or fewer.
        Adjust = "adjust",
        /// Permits: some were taken.
        Acquire = "acquire",
        /// Permits: some were given back.
        Release = "release",
        /// Permits: all that were left were taken.
        Drain = "drain",
    }
}

/// The text of a [`Cause::PlainSet`] by which another owner's text was overwritten.
pub(in crate::locks) const OVERWRITES: &[u8] = b"overwrites";

/// How a hold excludes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// It is none.
    None,
    /// It excludes all.
    Exclusive,
    /// The reader in a read-write lock.
    Shared,
    /// The writer in a read-write lock.
    Write,
    /// The queue of a fair lock.
    Fair,
}

impl Mode {
    /// As replies spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::None => "",
            Mode::Exclusive => "exclusive",
            Mode::Shared => "shared",
            Mode::Write => "write",
            Mode::Fair => "fair",
        }
    }
}

/// What an entry has no number for.
pub(crate) const NO_TTL: i64 = i64::MIN;
/// The same of permits whose beginning was not seen.
pub(crate) const NO_TOTAL: i64 = i64::MIN;

/// One thing that happened. Its number is its place in the ring.
#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct Entry {
    /// The number of the grant, 0: none; of permits, how many are held.
    pub(in crate::locks) grant: u64,
    /// The client; 0: none.
    pub(in crate::locks) client: u64,
    /// The rest of the lease, [`NO_TTL`] where there is none; where a clock was turned from; how many permits are left.
    pub(in crate::locks) ttl_ms: i64,
    /// How many holds there are; how many permits were taken; where a clock was turned to; of a fault that keeps an
    /// answer, how many entries its request has made just before.
    pub(in crate::locks) holds: i64,
    /// How many permits there are in all; of what is about a lock, the ticket by which its request has waited.
    /// [`NO_TOTAL`] where that is not known, or there is none.
    pub(in crate::locks) total: i64,
    /// When it happened, as its ring tells it.
    pub(super) since: Since,
    /// How long it was waited for.
    pub(in crate::locks) waited_ms: u32,
    pub(in crate::locks) key: Name,
    pub(in crate::locks) owner: Name,
    pub(in crate::locks) client_name: Name,
    /// The command, or a script: its SHA-1 or, if [`Entry::is_by_text`], its text.
    pub(in crate::locks) by: Name,
    /// What a fault did, the text of a mark, or the cycle that a request would have closed; of permits that were taken,
    /// their lease in milliseconds, in digits.
    pub(in crate::locks) text: Name,
    pub(in crate::locks) event: Event,
    pub(in crate::locks) cause: Cause,
    pub(in crate::locks) mode: Mode,
    pub(super) traits: Traits,
}

const _: () = assert!(size_of::<Entry>() <= 72, "a ring of 65,536 takes 4.5 MiB");

/// What is so of an entry, or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits(u8);

impl Traits {
    const HAS_HOLDER: u8 = 1;
    const NATIVE: u8 = 2;
    const BY_TEXT: u8 = 4;
    const SESSION: u8 = 8;

    pub(super) fn new(native: Option<bool>, by_text: bool, session: bool) -> Self {
        let mut traits = Traits::default();
        traits.set_native(native);
        traits.set(Self::BY_TEXT, by_text);
        traits.set(Self::SESSION, session);
        traits
    }

    fn has(self, which: u8) -> bool {
        self.0 & which != 0
    }

    fn set(&mut self, which: u8, is_so: bool) {
        self.0 = self.0 & !which | if is_so { which } else { 0 };
    }

    fn set_native(&mut self, native: Option<bool>) {
        self.set(Self::HAS_HOLDER, native.is_some());
        self.set(Self::NATIVE, native == Some(true));
    }
}

impl Entry {
    /// All names that it uses.
    pub(super) fn names(&self) -> [Name; 5] {
        [self.key, self.owner, self.client_name, self.by, self.text]
    }

    /// Whether a native command took the hold; `None` of what has no holder.
    pub(in crate::locks) fn native(&self) -> Option<bool> {
        self.traits.has(Traits::HAS_HOLDER).then_some(self.traits.has(Traits::NATIVE))
    }

    /// Tells that.
    pub(super) fn set_native(&mut self, native: Option<bool>) {
        self.traits.set_native(native);
    }

    /// Whether `by` is the text of a script.
    pub(in crate::locks) fn is_by_text(&self) -> bool {
        self.traits.has(Traits::BY_TEXT)
    }

    /// Whether the hold lasts as long as a connection, which renews its lease.
    pub(in crate::locks) fn is_of_session(&self) -> bool {
        self.traits.has(Traits::SESSION)
    }

    /// It does.
    pub(super) fn set_of_session(&mut self) {
        self.traits.set(Traits::SESSION, true);
    }

    /// The lease that was left, if it has one; of a loss, for how long nobody gets the lock after it.
    pub(in crate::locks) fn ttl(&self) -> Option<i64> {
        (self.ttl_ms != NO_TTL).then_some(self.ttl_ms)
    }

    /// How many permits there are in all, if that is known.
    pub(in crate::locks) fn total(&self) -> Option<i64> {
        (self.event == Event::Permits && self.total != NO_TOTAL).then_some(self.total)
    }

    /// The ticket by which the request has waited while its client went on, if it has one.
    pub(in crate::locks) fn ticket(&self) -> Option<i64> {
        (self.event != Event::Permits && self.total != NO_TOTAL).then_some(self.total)
    }
}
