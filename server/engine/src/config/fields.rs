//! Typed fields of the configuration, each convertible to and from a [`Value`].

use super::{AuthClients, EndpointType, OutputLimits, TimeMode, Value};
use crate::spec::Version;
use lockwheel_store::keyspace::{EventClasses, EvictionPolicy, Measure, Rank};

/// How much is logged, each level including those after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// Much, rarely useful.
    Verbose,
    /// What matters in production.
    #[default]
    Notice,
    /// Only what is important.
    Warning,
}

impl LogLevel {
    pub(super) const NAMES: &[&str] = &["debug", "verbose", "notice", "warning"];
    const ALL: [Self; 4] = [LogLevel::Debug, LogLevel::Verbose, LogLevel::Notice, LogLevel::Warning];
}

/// Which clients something is allowed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permission {
    /// No client.
    #[default]
    No,
    /// Every client.
    Yes,
    /// To clients on this machine.
    Local,
}

impl Permission {
    pub(super) const NAMES: &[&str] = &["no", "yes", "local"];
    const ALL: [Self; 3] = [Permission::No, Permission::Yes, Permission::Local];

    /// Whether a client is allowed; `local`: whether it is on this machine.
    pub fn allows(self, local: bool) -> bool {
        match self {
            Permission::No => false,
            Permission::Yes => true,
            Permission::Local => local,
        }
    }
}

/// Which keys go when there are more bytes of data than `maxmemory`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaxmemoryPolicy {
    /// With a deadline, not accessed for long.
    VolatileLru,
    /// With a deadline, rarely accessed.
    VolatileLfu,
    /// With a deadline, at random.
    VolatileRandom,
    /// With the nearest deadline.
    VolatileTtl,
    /// Not accessed for long.
    AllkeysLru,
    /// Rarely accessed.
    AllkeysLfu,
    /// At random.
    AllkeysRandom,
    /// None.
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

    /// Which keys go, and in what order; `None`: none goes.
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

    /// Whether when or how often keys are accessed decides which go.
    pub fn goes_by_accesses(self) -> bool {
        self.eviction().is_some_and(|policy| matches!(policy.rank, Rank::IdleTime | Rank::Frequency))
    }

    /// What is measured of the accesses of keys.
    pub fn measure(self) -> Measure {
        match self {
            MaxmemoryPolicy::VolatileLfu | MaxmemoryPolicy::AllkeysLfu => Measure::Frequency,
            _ => Measure::IdleTime,
        }
    }
}

/// Whether new users may hear and publish on all channels (`acl-pubsub-default`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelDefault {
    /// They may.
    All,
    /// They may not.
    #[default]
    Nothing,
}

impl ChannelDefault {
    pub(super) const NAMES: &[&str] = &["allchannels", "resetchannels"];
    const ALL: [Self; 2] = [ChannelDefault::All, ChannelDefault::Nothing];

    /// What it is in a version where nothing is said: before 7.0 new users might.
    pub fn of(version: Version) -> Self {
        if version == Version::V6_2 { ChannelDefault::All } else { ChannelDefault::Nothing }
    }

    /// Whether they may.
    pub fn is_all(self) -> bool {
        self == ChannelDefault::All
    }
}

/// The supervisor of the program, which is notified when it is ready (`supervised`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Supervision {
    /// Upstart.
    Upstart,
    /// systemd.
    Systemd,
    /// The one that the environment shows.
    Auto,
    /// None.
    #[default]
    No,
}

impl Supervision {
    pub(super) const NAMES: &[&str] = &["upstart", "systemd", "auto", "no"];
    const ALL: [Self; 4] = [Supervision::Upstart, Supervision::Systemd, Supervision::Auto, Supervision::No];
}

/// The type of a field. The table pairs each field with a kind that makes values of its type.
pub(super) trait Field {
    /// The field as a value.
    fn value(&self) -> Value;
    /// Stores a value; one of another type, which the table rules out, changes nothing.
    fn assign(&mut self, value: Value);
}

macro_rules! numbers {
    ($variant:ident: $($number:ty),*) => {
        $(impl Field for $number {
            fn value(&self) -> Value {
                Value::$variant((*self).into())
            }

            fn assign(&mut self, value: Value) {
                // The kind has checked the range; more than a small machine can count amounts to no limit.
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

/// Fields stored in a variant of their own.
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

/// Fields that are one of some words.
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
    AuthClients,
    ChannelDefault,
    EndpointType,
    LogLevel,
    MaxmemoryPolicy,
    Permission,
    Supervision,
    Version
);
