//! An entry of the history: one event of a lock or of its clients.

use super::names::Name;
use super::times::Since;

/// Defines an enum whose variants have names in replies. With `listed`, it also has a list of all variants.
macro_rules! words {
    (listed $(#[$about:meta])* $kind:ident { $($(#[$doc:meta])* $name:ident = $text:literal,)* }) => {
        words! { $(#[$about])* $kind { $($(#[$doc])* $name = $text,)* } }

        impl $kind {
            pub(crate) const ALL: &[Self] = &[$($kind::$name,)*];
        }
    };
    ($(#[$about:meta])* $kind:ident { $($(#[$doc:meta])* $name:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $kind { $($(#[$doc])* $name,)* }

        impl $kind {
            pub(crate) fn name(self) -> &'static str {
                match self { $($kind::$name => $text,)* }
            }
        }
    };
}

words! { listed
    Event {
        /// An owner has come to hold a lock.
        Acquired = "acquired",
        /// A holder has re-entered its lock.
        Reentered = "reentered",
        Renewed = "renewed",
        /// A holder has released a hold; `holds` says how many are left.
        Released = "released",
        Lost = "lost",
        Converted = "converted",
        Transferred = "transferred",
        /// A client begins to wait.
        Queued = "queued",
        /// A wait has ended. It was not served, or no other entry records that.
        LeftQueue = "left-queue",
        /// A request for a lock was refused.
        Refused = "refused",
        /// A client that does not hold a lock tried to release it.
        ReleaseRefused = "release-refused",
        /// A client that does not hold a lock tried to renew it.
        RenewalRefused = "renewal-refused",
        /// Permits of a semaphore were taken or given back.
        Permits = "permits",
        /// A declared section was entered: LOCK.ENTER.
        Entered = "entered",
        /// A declared section was left: LOCK.LEAVE.
        Left = "left",
        Fenced = "fenced",
        FenceRefused = "fence-refused",
        /// A habit that may cause a failure later; `cause` says which.
        Habit = "habit",
        /// A test has moved a clock.
        Clock = "clock",
        Fault = "fault",
        Connect = "connect",
        /// A client is gone.
        Disconnect = "disconnect",
        /// A mark of a test: LOCK.MARK.
        Mark = "mark",
    }
}

words! {
    Cause {
        None = "",
        Released = "released",
        Expired = "expired",
        /// A script removed the hold without naming its owner.
        Forced = "forced",
        /// A bare command removed the hold.
        Deleted = "deleted",
        /// The key was given another value.
        Overwritten = "overwritten",
        Disconnected = "disconnected",
        /// The hold has passed to another owner.
        Transferred = "transferred",
        /// The server has failed over.
        FailedOver = "failed-over",
        /// SWAPDB has moved the key to another database, where the hold continues.
        Swapped = "swapped",
        /// MIGRATE has moved the key to another server, where the hold continues.
        Migrated = "migrated",
        Timeout = "timeout",
        /// CLIENT UNBLOCK or LOCK.CANCEL ended the wait.
        Unblocked = "unblocked",
        /// An error ended the wait.
        Error = "error",
        /// The wait was in a cycle, or would have closed one.
        Deadlock = "deadlock",
        /// Another client removed the owner from the queue.
        Evicted = "evicted",
        /// The owner asked and was answered.
        Served = "served",
        /// A habit: SET NX without a lease, then EXPIRE.
        LateLease = "late-lease",
        /// A habit: a string that was set with NX and without a lease is used as a lock.
        NoLease = "no-lease",
        /// A habit: SET without NX of a string that is released by a comparison.
        PlainSet = "plain-set",
        /// A habit: KEYS.
        Keys = "keys",
        /// Permits: the semaphore was created.
        Init = "init",
        /// Permits: their total has changed.
        Adjust = "adjust",
        /// Permits: some were taken.
        Acquire = "acquire",
        /// Permits: some were returned.
        Release = "release",
        /// Permits: all that were left were taken.
        Drain = "drain",
    }
}

/// The text of a [`Cause::PlainSet`] entry whose SET overwrote another owner's value.
pub(in crate::locks) const OVERWRITES: &[u8] = b"overwrites";

/// The way in which a hold excludes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    None,
    /// A hold that excludes all others.
    Exclusive,
    Shared,
    Write,
    /// The queue of a fair lock.
    Fair,
}

impl Mode {
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

/// The value of `ttl_ms` in an entry without a lease.
pub(crate) const NO_TTL: i64 = i64::MIN;
/// The value of `total` in an entry without a total or a ticket, such as permits whose creation was not seen.
pub(crate) const NO_TOTAL: i64 = i64::MIN;

/// An entry of the history. Its number is its place in the ring.
#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct Entry {
    /// The number of the grant; 0: none. For permits, the number of held permits.
    pub(in crate::locks) grant: u64,
    /// The client; 0: none.
    pub(in crate::locks) client: u64,
    /// The rest of the lease, or [`NO_TTL`]. Clock: the time from which it was moved. Permits: the number left.
    pub(in crate::locks) ttl_ms: i64,
    /// The number of holds. For permits, the number taken or returned. For a clock, the time to which it was moved. For
    /// a fault that keeps back an answer, the number of entries that the request made just before.
    pub(in crate::locks) holds: i64,
    /// The total number of permits. For a lock, the request's ticket. [`NO_TOTAL`] if unknown or absent.
    pub(in crate::locks) total: i64,
    /// The time of the event, relative to a stretch of the ring.
    pub(super) since: Since,
    pub(in crate::locks) waited_ms: u32,
    pub(in crate::locks) key: Name,
    pub(in crate::locks) owner: Name,
    pub(in crate::locks) client_name: Name,
    /// The command, or a script: its SHA-1 or, if [`Entry::is_by_text`], its text.
    pub(in crate::locks) by: Name,
    /// The action of a fault, the text of a mark, or the cycle that a request would have closed. For permits that were
    /// taken, their lease in milliseconds, in digits.
    pub(in crate::locks) text: Name,
    pub(in crate::locks) event: Event,
    pub(in crate::locks) cause: Cause,
    pub(in crate::locks) mode: Mode,
    pub(super) traits: Traits,
}

const _: () = assert!(size_of::<Entry>() <= 72, "a ring of 65,536 takes 4.5 MiB");

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
    pub(super) fn names(&self) -> [Name; 5] {
        [self.key, self.owner, self.client_name, self.by, self.text]
    }

    /// Whether it is of a subscription to a channel of a lock that names no owner.
    pub(in crate::locks) fn is_of_listener(&self) -> bool {
        self.native() == Some(false) && self.mode != Mode::Fair && self.owner == Name::NONE
    }

    /// Whether a native command took the hold; `None` if the entry has no holder.
    pub(in crate::locks) fn native(&self) -> Option<bool> {
        self.traits.has(Traits::HAS_HOLDER).then_some(self.traits.has(Traits::NATIVE))
    }

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

    pub(super) fn set_of_session(&mut self) {
        self.traits.set(Traits::SESSION, true);
    }

    /// Returns the rest of the lease. For a loss, the delay in milliseconds before the lock can be granted again.
    pub(in crate::locks) fn ttl(&self) -> Option<i64> {
        (self.ttl_ms != NO_TTL).then_some(self.ttl_ms)
    }

    /// Returns the total number of permits, if it is known.
    pub(in crate::locks) fn total(&self) -> Option<i64> {
        (self.event == Event::Permits && self.total != NO_TOTAL).then_some(self.total)
    }

    pub(in crate::locks) fn ticket(&self) -> Option<i64> {
        (self.event != Event::Permits && self.total != NO_TOTAL).then_some(self.total)
    }
}
