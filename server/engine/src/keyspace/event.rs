//! Keyspace events: their classes, names, and the text form of `notify-keyspace-events`.

/// A set of event classes, as `notify-keyspace-events` spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EventClasses(pub u32);

impl EventClasses {
    /// No notifications.
    pub const NONE: Self = EventClasses(0);
    /// `K`: publish to `__keyspace@<db>__:<key>`.
    pub const KEYSPACE: u32 = 1;
    /// `E`: publish to `__keyevent@<db>__:<event>`.
    pub const KEYEVENT: u32 = 1 << 1;
    /// `g`: generic commands.
    pub const GENERIC: u32 = 1 << 2;
    /// `$`: strings.
    pub const STRING: u32 = 1 << 3;
    /// `l`: lists.
    pub const LIST: u32 = 1 << 4;
    /// `s`: sets.
    pub const SET: u32 = 1 << 5;
    /// `h`: hashes.
    pub const HASH: u32 = 1 << 6;
    /// `z`: sorted sets.
    pub const ZSET: u32 = 1 << 7;
    /// `x`: keys that expire.
    pub const EXPIRED: u32 = 1 << 8;
    /// `e`: keys that are evicted.
    pub const EVICTED: u32 = 1 << 9;
    /// `t`: streams.
    pub const STREAM: u32 = 1 << 10;
    /// `m`: look-ups of missing keys; not part of `A`.
    pub const KEY_MISS: u32 = 1 << 11;
    /// `d`: module types.
    pub const MODULE: u32 = 1 << 12;
    /// `n`: new keys; not part of `A`.
    pub const NEW: u32 = 1 << 13;
    /// `A`: all classes but `m` and `n`.
    pub const ALL: u32 = Self::GENERIC
        | Self::STRING
        | Self::LIST
        | Self::SET
        | Self::HASH
        | Self::ZSET
        | Self::EXPIRED
        | Self::EVICTED
        | Self::STREAM
        | Self::MODULE;

    const LETTERS: &'static [(u8, u32)] = &[
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

    /// Whether events of this class are published at all.
    #[inline]
    pub fn wants(self, class: u32) -> bool {
        self.0 & class != 0 && self.0 & (Self::KEYSPACE | Self::KEYEVENT) != 0
    }

    /// Reads the text form; `None` when a letter is unknown.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut classes = 0;
        for letter in text {
            classes |= Self::LETTERS.iter().find(|(known, _)| known == letter)?.1;
        }
        Some(EventClasses(classes))
    }

    /// The text form that CONFIG GET shows: `A` for all of its classes, which hides `n`, else letter by letter.
    pub fn text(self) -> String {
        let all = self.0 & Self::ALL == Self::ALL;
        let mut left = if all { self.0 & !Self::NEW } else { self.0 };
        let mut text = String::new();
        for &(letter, classes) in Self::LETTERS {
            if left & classes == classes {
                text.push(letter as char);
                left &= !classes;
            }
        }
        text
    }
}

/// What happened to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// One of the classes of [`EventClasses`].
    pub class: u32,
    /// The name that is published.
    pub name: &'static str,
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
        EXPIRE = GENERIC "expire";
        EXPIRED = EXPIRED "expired";
        HDEL = HASH "hdel";
        HINCRBY = HASH "hincrby";
        HINCRBYFLOAT = HASH "hincrbyfloat";
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
        NEW = NEW "new";
        PERSIST = GENERIC "persist";
        RENAME_FROM = GENERIC "rename_from";
        RENAME_TO = GENERIC "rename_to";
        RPOP = LIST "rpop";
        RPUSH = LIST "rpush";
        SADD = SET "sadd";
        SDIFFSTORE = SET "sdiffstore";
        SET = STRING "set";
        SETRANGE = STRING "setrange";
        SINTERSTORE = SET "sinterstore";
        SPOP = SET "spop";
        SREM = SET "srem";
        SUNIONSTORE = SET "sunionstore";
        ZADD = ZSET "zadd";
        ZINCR = ZSET "zincr";
        ZPOPMAX = ZSET "zpopmax";
        ZPOPMIN = ZSET "zpopmin";
        ZRANGESTORE = ZSET "zrangestore";
        ZREM = ZSET "zrem";
        ZREMRANGEBYLEX = ZSET "zremrangebylex";
        ZREMRANGEBYRANK = ZSET "zremrangebyrank";
        ZREMRANGEBYSCORE = ZSET "zremrangebyscore";
    }
}
