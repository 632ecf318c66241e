//! Typed fields of the configuration, each convertible to and from a [`Value`].

use super::{AppendFsync, AuthClients, EndpointType, OutputLimits, TimeMode, Value};
use crate::spec::Version;
use lockwheel_store::keyspace::{EventClasses, EvictionPolicy, Measure, Rank};

/// The level of the log. Each level includes the levels after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// Much, rarely useful.
    Verbose,
    /// Messages that matter in production.
    #[default]
    Notice,
    /// Only important messages.
    Warning,
}

impl LogLevel {
    pub(super) const NAMES: &[&str] = &["debug", "verbose", "notice", "warning"];
    const ALL: [Self; 4] = [LogLevel::Debug, LogLevel::Verbose, LogLevel::Notice, LogLevel::Warning];
}

/// The clients that have a permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permission {
    /// No client.
    #[default]
    No,
    /// Every client.
    Yes,
    /// Clients on this machine.
    Local,
}

impl Permission {
    pub(super) const NAMES: &[&str] = &["no", "yes", "local"];
    const ALL: [Self; 3] = [Permission::No, Permission::Yes, Permission::Local];

    /// Whether a client has the permission. `local`: whether the client is on this machine.
    pub fn allows(self, local: bool) -> bool {
        match self {
            Permission::No => false,
            Permission::Yes => true,
            Permission::Local => local,
        }
    }
}

/// The keys to evict while the data have more bytes than `maxmemory`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxmemoryPolicy {
    /// Keys with an expiry, the least recently used first.
    VolatileLru,
    /// Keys with an expiry, the least frequently used first.
    VolatileLfu,
    /// Random keys with an expiry.
    VolatileRandom,
    /// Keys with an expiry, the nearest expiry first.
    VolatileTtl,
    /// Any keys, the least recently used first.
    AllkeysLru,
    /// Any keys, the least frequently used first.
    AllkeysLfu,
    /// Random keys.
    AllkeysRandom,
    /// No eviction.
    #[default]
    NoEviction,
}

impl MaxmemoryPolicy {
    pub(super) const NAMES: &[&str] = &[
        "volatile-lru",
        "volatile-lfu",
        "volatile-random",
        "volatile-ttl",
        "allkeys-lru",
        "allkeys-lfu",
        "allkeys-random",
        "noeviction",
    ];
    const ALL: [Self; 8] = [
        MaxmemoryPolicy::VolatileLru,
        MaxmemoryPolicy::VolatileLfu,
        MaxmemoryPolicy::VolatileRandom,
        MaxmemoryPolicy::VolatileTtl,
        MaxmemoryPolicy::AllkeysLru,
        MaxmemoryPolicy::AllkeysLfu,
        MaxmemoryPolicy::AllkeysRandom,
        MaxmemoryPolicy::NoEviction,
    ];

    /// The keys to evict, and their order. `None`: no eviction.
    pub fn eviction(self) -> Option<EvictionPolicy> {
        let (volatile, rank) = match self {
            MaxmemoryPolicy::VolatileLru => (true, Rank::IdleTime),
            MaxmemoryPolicy::VolatileLfu => (true, Rank::Frequency),
            MaxmemoryPolicy::VolatileRandom => (true, Rank::Random),
            MaxmemoryPolicy::VolatileTtl => (true, Rank::Deadline),
            MaxmemoryPolicy::AllkeysLru => (false, Rank::IdleTime),
            MaxmemoryPolicy::AllkeysLfu => (false, Rank::Frequency),
            MaxmemoryPolicy::AllkeysRandom => (false, Rank::Random),
            MaxmemoryPolicy::NoEviction => return None,
        };
        Some(EvictionPolicy { volatile, rank })
    }

    /// Whether the order of eviction depends on the time or the frequency of accesses.
    pub fn goes_by_accesses(self) -> bool {
        self.eviction().is_some_and(|policy| matches!(policy.rank, Rank::IdleTime | Rank::Frequency))
    }

    /// The measure that is kept of the accesses to a key.
    pub fn measure(self) -> Measure {
        match self {
            MaxmemoryPolicy::VolatileLfu | MaxmemoryPolicy::AllkeysLfu => Measure::Frequency,
            _ => Measure::IdleTime,
        }
    }
}

/// The rights of new users to subscribe and publish to channels (`acl-pubsub-default`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelDefault {
    /// All channels.
    All,
    /// No channel.
    #[default]
    Nothing,
}

impl ChannelDefault {
    pub(super) const NAMES: &[&str] = &["allchannels", "resetchannels"];
    const ALL: [Self; 2] = [ChannelDefault::All, ChannelDefault::Nothing];

    /// The default of a version. Before 7.0 new users had the rights to all channels.
    pub fn of(version: Version) -> Self {
        if version == Version::V6_2 { ChannelDefault::All } else { ChannelDefault::Nothing }
    }

    /// Whether new users have the rights to all channels.
    pub fn is_all(self) -> bool {
        self == ChannelDefault::All
    }
}

/// The supervisor of the program, which is notified when the program is ready (`supervised`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Supervision {
    /// Upstart.
    Upstart,
    /// systemd.
    Systemd,
    /// The supervisor that the environment shows.
    Auto,
    /// No supervisor.
    #[default]
    No,
}

impl Supervision {
    pub(super) const NAMES: &[&str] = &["upstart", "systemd", "auto", "no"];
    const ALL: [Self; 4] = [Supervision::Upstart, Supervision::Systemd, Supervision::Auto, Supervision::No];
}

/// The type of a field. The table pairs each field with a kind whose values have this type.
pub(super) trait Field {
    fn value(&self) -> Value;
    /// Stores a value. A value of another type changes nothing; the table rules it out.
    fn assign(&mut self, value: Value);
}

macro_rules! numbers {
    ($variant:ident: $($number:ty),*) => {
        $(impl Field for $number {
            fn value(&self) -> Value {
                Value::$variant((*self).into())
            }

            fn assign(&mut self, value: Value) {
                // The kind has checked the range. A number beyond the range of the type amounts to no limit.
                match value {
                    Value::Integer(number) => *self = <$number>::try_from(number).unwrap_or(<$number>::MAX),
                    Value::Size(bytes) => *self = <$number>::try_from(bytes).unwrap_or(<$number>::MAX),
                    _ => {}
                }
            }
        })*
    };
}

numbers!(Integer: u16, u32, i32, i64);
numbers!(Size: u64);

impl Field for Option<u16> {
    fn value(&self) -> Value {
        self.unwrap_or(0).value()
    }

    fn assign(&mut self, value: Value) {
        let mut port = 0;
        port.assign(value);
        *self = Some(port).filter(|&port| port != 0);
    }
}

impl Field for usize {
    fn value(&self) -> Value {
        Value::Size(*self as u64)
    }

    fn assign(&mut self, value: Value) {
        let mut wide = *self as u64;
        wide.assign(value);
        *self = usize::try_from(wide).unwrap_or(usize::MAX);
    }
}

impl Field for String {
    fn value(&self) -> Value {
        Value::Text(self.clone().into_bytes())
    }

    fn assign(&mut self, value: Value) {
        if let Value::Text(text) = value {
            *self = String::from_utf8_lossy(&text).into_owned();
        }
    }
}

impl Field for Vec<String> {
    fn value(&self) -> Value {
        Value::Words(self.iter().map(|word| word.clone().into_bytes()).collect())
    }

    fn assign(&mut self, value: Value) {
        if let Value::Words(words) = value {
            *self = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        }
    }
}

/// Implements `Field` for types that have a variant of [`Value`] of their own.
macro_rules! contents {
    ($($variant:ident($content:ty)),*) => {
        $(impl Field for $content {
            fn value(&self) -> Value {
                Value::$variant(self.clone())
            }

            fn assign(&mut self, value: Value) {
                if let Value::$variant(content) = value {
                    *self = content;
                }
            }
        })*
    };
}

contents!(
    Flag(bool),
    Text(Vec<u8>),
    Events(EventClasses),
    OutputLimits(OutputLimits),
    Time(TimeMode),
    Seed(Option<u64>)
);

/// Implements `Field` for types that are one of some words.
macro_rules! choices {
    ($($choice:ty),*) => {
        $(impl Field for $choice {
            fn value(&self) -> Value {
                Value::Choice(Self::NAMES[*self as usize])
            }

            fn assign(&mut self, value: Value) {
                let found = Self::ALL.into_iter().find(|choice| choice.value() == value);
                *self = found.unwrap_or(*self);
            }
        })*
    };
}

choices!(
    AppendFsync,
    AuthClients,
    ChannelDefault,
    EndpointType,
    LogLevel,
    MaxmemoryPolicy,
    Permission,
    Supervision,
    Version
);
