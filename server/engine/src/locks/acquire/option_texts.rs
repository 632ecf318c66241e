//! The meaning of the options of `LOCK.ACQUIRE` and `LOCK.MACQUIRE`, as the reference shows them.

use crate::spec::OptionTexts;

pub(super) const OF_ONE: &[OptionTexts] =
    &[MODES, &[("FAIR", "Takes the fair lock of Redisson, and waits in its queue.")], SHARED_OPTIONS];

pub(super) const OF_SEVERAL: &[OptionTexts] = &[MODES, SHARED_OPTIONS];

const MODES: OptionTexts = &[
    ("SHARED", "Takes a read-write lock for reading."),
    ("EXCLUSIVE", "Takes a read-write lock for writing."),
];

const SHARED_OPTIONS: OptionTexts = &[
    ("EX seconds", "The lease in seconds. Without EX and PX, the lease is 30 seconds."),
    ("PX milliseconds", "The lease in milliseconds."),
    (
        "BLOCK milliseconds",
        "Waits until the lock is free. 0 waits for ever. Without BLOCK, the reply comes at once.",
    ),
    ("PRIORITY priority", "Serves a higher priority first; ties in order of arrival. The default is 0."),
    ("NOREENTER", "Refuses an owner that holds the lock already."),
    ("MAXHOLDS count", "Refuses an owner that holds the lock so many times already."),
    ("FENCED", "Takes the token from the counter of Redisson's RFencedLock."),
    ("LAYOUT", "Followed by the form of the lock's key."),
    ("HASH", "The hash of Redisson's RLock. This is the default."),
    ("STRING", "One string, as SET with NX makes it. It has neither modes nor re-entry."),
    ("SESSION", "Keeps the hold as long as the connection lives. The server renews the lease."),
    (
        "PING milliseconds",
        "With SESSION: also ends the hold when the client has sent nothing for that time, at least 100.",
    ),
    ("FENCE resource", "Raises the highest token of this resource, as LOCK.FENCE does."),
    ("DELAY milliseconds", "Keeps the lock from others for that time, if its lease or its session ends."),
    ("DATA data", "A note of the holder that others can read: up to 4096 bytes."),
    ("GETHOLDER", "Describes the holder if the lock is taken."),
    (
        "ASYNC",
        "Replies QUEUED and a ticket at once instead of blocking, and reports the grant by a push (RESP3).",
    ),
];
