//! Keyspace events: their classes, names, and the text form of `notify-keyspace-events`.

use super::waiters::Signal;

bitflags::bitflags! {
    /// A set of event classes, as `notify-keyspace-events` spells it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct EventClasses: u32 {
        /// `K`: publish to `__keyspace@<db>__:<key>`.
        const KEYSPACE = 1;
        /// `E`: publish to `__keyevent@<db>__:<event>`.
        const KEYEVENT = 1 << 1;
        /// `g`: generic commands.
        const GENERIC = 1 << 2;
        /// `$`: strings.
        const STRING = 1 << 3;
        /// `l`: lists.
        const LIST = 1 << 4;
        /// `s`: sets.
        const SET = 1 << 5;
        /// `h`: hashes.
        const HASH = 1 << 6;
        /// `z`: sorted sets.
        const ZSET = 1 << 7;
        /// `x`: keys that expire.
        const EXPIRED = 1 << 8;
        /// `e`: keys that are evicted.
        const EVICTED = 1 << 9;
        /// `t`: streams.
        const STREAM = 1 << 10;
        /// `m`: look-ups of missing keys; not part of `A`.
        const KEY_MISS = 1 << 11;
        /// `d`: module types.
        const MODULE = 1 << 12;
        /// `n`: new keys; not part of `A`.
        const NEW = 1 << 13;
        /// `A`: all classes but `m` and `n`.
        const ALL = Self::GENERIC.bits()
            | Self::STRING.bits()
            | Self::LIST.bits()
            | Self::SET.bits()
            | Self::HASH.bits()
            | Self::ZSET.bits()
            | Self::EXPIRED.bits()
            | Self::EVICTED.bits()
            | Self::STREAM.bits()
            | Self::MODULE.bits();
    }
}

impl EventClasses {
    /// No notifications.
    pub const NONE: Self = Self::empty();

    const LETTERS: &'static [(u8, EventClasses)] = &[
        (b'A', Self::ALL),
        (b'g', Self::GENERIC),
        (b'$', Self::STRING),
        (b'l', Self::LIST),
        (b's', Self::SET),
        (b'h', Self::HASH),
        (b'z', Self::ZSET),
        (b'x', Self::EXPIRED),
        (b'e', Self::EVICTED),
        (b't', Self::STREAM),
        (b'd', Self::MODULE),
        (b'n', Self::NEW),
        (b'K', Self::KEYSPACE),
        (b'E', Self::KEYEVENT),
        (b'm', Self::KEY_MISS),
    ];

    /// Whether events of this class are published.
    #[inline]
    pub fn wants(self, class: EventClasses) -> bool {
        self.intersects(class) && self.intersects(Self::KEYSPACE.union(Self::KEYEVENT))
    }

    /// Reads the text form. Returns `None` if a letter is unknown.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut classes = Self::NONE;
        for letter in text {
            classes |= Self::LETTERS.iter().find(|(known, _)| known == letter)?.1;
        }
        Some(classes)
    }

    /// The form of CONFIG GET: `A`, which hides `n`, if all its classes are set, or else one letter a class.
    pub fn text(self) -> String {
        let all = self.contains(Self::ALL);
        let mut left = if all { self - Self::NEW } else { self };
        let mut text = String::new();
        for &(letter, classes) in Self::LETTERS {
            if left.contains(classes) {
                text.push(letter as char);
                left -= classes;
            }
        }
        text
    }
}

/// A kind of event of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The single class of the event.
    pub class: EventClasses,
    /// The name that is published.
    pub name: &'static str,
}

impl Event {
    /// Whether the key's waiters check it again. An event that only removes entries or sets a deadline serves no
    /// waiter. A stream's group that was set back waits for the next entry, as in Redis.
    pub(super) fn wakes_waiters(self) -> bool {
        ![events::EXPIRE, events::PERSIST, events::HEXPIRE, events::HPERSIST, events::XDEL, events::XTRIM]
            .contains(&self)
    }

    /// The signal that the event is to the key's waiters.
    pub(super) fn signal(self) -> Signal {
        let takes = [events::HDEL, events::DEL, events::EXPIRED, events::EVICTED, events::HEXPIRED];
        if takes.contains(&self) { Signal::Less } else { Signal::Changed }
    }
}

/// The events, as Redis names them.
pub mod events {
    use super::{Event, EventClasses as Class};

    macro_rules! events {
        ($($name:ident = $class:ident $text:literal;)*) => {
            $(
                #[doc = concat!("`", $text, "`")]
                pub const $name: Event = Event { class: Class::$class, name: $text };
            )*
        };
    }

    events! {
        APPEND = STRING "append";
        COPY_TO = GENERIC "copy_to";
        DEL = GENERIC "del";
        EVICTED = EVICTED "evicted";
        EXPIRE = GENERIC "expire";
        EXPIRED = EXPIRED "expired";
        GEORADIUSSTORE = ZSET "georadiusstore";
        GEOSEARCHSTORE = ZSET "geosearchstore";
        HDEL = HASH "hdel";
        HEXPIRE = HASH "hexpire";
        HEXPIRED = HASH "hexpired";
        HINCRBY = HASH "hincrby";
        HINCRBYFLOAT = HASH "hincrbyfloat";
        HPERSIST = HASH "hpersist";
        HSET = HASH "hset";
        INCRBY = STRING "incrby";
        INCRBYFLOAT = STRING "incrbyfloat";
        KEYMISS = KEY_MISS "keymiss";
        LINSERT = LIST "linsert";
        LPOP = LIST "lpop";
        LPUSH = LIST "lpush";
        LREM = LIST "lrem";
        LSET = LIST "lset";
        LTRIM = LIST "ltrim";
        MOVE_FROM = GENERIC "move_from";
        MOVE_TO = GENERIC "move_to";
        NEW = NEW "new";
        PERSIST = GENERIC "persist";
        PFADD = STRING "pfadd";
        RENAME_FROM = GENERIC "rename_from";
        RENAME_TO = GENERIC "rename_to";
        RESTORE = GENERIC "restore";
        RPOP = LIST "rpop";
        RPUSH = LIST "rpush";
        SADD = SET "sadd";
        SDIFFSTORE = SET "sdiffstore";
        SET = STRING "set";
        SETBIT = STRING "setbit";
        SETRANGE = STRING "setrange";
        SORTSTORE = LIST "sortstore";
        SINTERSTORE = SET "sinterstore";
        SPOP = SET "spop";
        SREM = SET "srem";
        SUNIONSTORE = SET "sunionstore";
        XADD = STREAM "xadd";
        XDEL = STREAM "xdel";
        XGROUP_CREATE = STREAM "xgroup-create";
        XGROUP_CREATECONSUMER = STREAM "xgroup-createconsumer";
        XGROUP_DELCONSUMER = STREAM "xgroup-delconsumer";
        XGROUP_DESTROY = STREAM "xgroup-destroy";
        XGROUP_SETID = STREAM "xgroup-setid";
        XSETID = STREAM "xsetid";
        XTRIM = STREAM "xtrim";
        ZADD = ZSET "zadd";
        ZDIFFSTORE = ZSET "zdiffstore";
        ZINCR = ZSET "zincr";
        ZINTERSTORE = ZSET "zinterstore";
        ZPOPMAX = ZSET "zpopmax";
        ZPOPMIN = ZSET "zpopmin";
        ZRANGESTORE = ZSET "zrangestore";
        ZREM = ZSET "zrem";
        ZREMRANGEBYLEX = ZSET "zremrangebylex";
        ZREMRANGEBYRANK = ZSET "zremrangebyrank";
        ZREMRANGEBYSCORE = ZSET "zremrangebyscore";
        ZUNIONSTORE = ZSET "zunionstore";
    }
}
