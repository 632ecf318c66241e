//! A parameter: its row, its kinds of value, and the reading of a value.

use super::{Config, OutputLimits, TimeMode, instant};
use lockwheel_store::keyspace::EventClasses;
use std::borrow::Cow;

/// The reason why a value is refused, in Redis' words.
pub(super) type Reason = Cow<'static, str>;

/// The context of the reading of a value, besides its words.
pub(super) struct ReadContext<'a> {
    pub(super) config: &'a Config,
    pub(super) parameter: &'static Parameter,
    /// Whether the text being loaded has set the parameter before.
    pub(super) again: bool,
}

impl ReadContext<'_> {
    pub(super) fn current(&self) -> Value {
        self.config.value(self.parameter)
    }
}

/// Reads the words of a parameter that has a grammar of its own.
pub(super) type Read = fn(&[&[u8]], &ReadContext<'_>) -> Result<Value, Reason>;

/// A rule for values, in addition to the rules of the kind.
pub(super) type ValueRule = fn(&Value) -> Result<(), Reason>;

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `yes` or `no`.
    Flag(bool),
    /// A number.
    Integer(i64),
    /// A number of bytes.
    Size(u64),
    /// One of a parameter's words.
    Choice(&'static str),
    /// Any bytes, shown as they are.
    Text(Vec<u8>),
    /// Classes of keyspace events.
    Events(EventClasses),
    /// The limits of pending replies.
    OutputLimits(OutputLimits),
    /// The mode of the clock.
    Time(TimeMode),
    /// A seed, if any.
    Seed(Option<u64>),
    /// Words, shown with a space between them.
    Words(Vec<Vec<u8>>),
}

/// The kinds of parameters, by the values they take.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `yes` or `no`.
    Flag,
    /// A decimal number between two bounds, both included.
    Integer {
        /// The lower bound.
        min: i64,
        /// The upper bound.
        max: i64,
    },
    /// A number of bytes with an optional unit, between two bounds, both included.
    Size {
        /// The lower bound.
        min: u64,
        /// The upper bound.
        max: u64,
    },
    /// An octal number, up to a bound.
    Octal {
        /// The upper bound.
        max: i64,
    },
    /// A number of bytes, or a percentage of `maxmemory`, kept as a negative number.
    SizeOrPercent,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// One word of any bytes.
    Text,
    /// One word or several, with a grammar of its own.
    Special(Grammar),
}

/// The reader of a parameter with a grammar of its own.
#[derive(Clone, Copy, Debug)]
pub struct Grammar {
    /// Whether the value may have several words, or none.
    pub(super) several: bool,
    pub(super) read: Read,
}

/// The times at which a parameter may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// At any time.
    Anytime,
    /// At the start only.
    AtStart,
    /// At the start only. CONFIG SET accepts the present value, so that the output of CONFIG GET can be written back.
    Fixed,
    /// At any time, by clients that `enable-protected-configs` allows.
    Protected,
    /// At any time, if the host around the engine can apply the change.
    Host(HostPart),
}

/// The part of the host, around the engine, that a parameter changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPart {
    /// The addresses that are listened on.
    Addresses,
    /// The port that is listened on for plain connections.
    Port,
    /// The port that is listened on for connections over TLS.
    TlsPort,
    /// The limit of clients.
    Clients,
    /// The setting of connections over TLS. The same value counts as a change: files are read again.
    Tls,
}

/// The accessors of the typed field of a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) get: fn(&Config) -> Value,
    pub(super) set: fn(&mut Config, Value),
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The other name. CONFIG GET shows both.
    pub alias: Option<&'static str>,
    /// The kind of values that the parameter takes.
    pub kind: Kind,
    /// The default value, as CONFIG GET shows it.
    pub default: &'static str,
    /// The times at which the parameter may change.
    pub change: Change,
    pub(super) check: Option<ValueRule>,
    pub(super) secret: bool,
    /// Whether CONFIG GET shows the parameter only for its full name, and not for a pattern.
    pub(super) hidden: bool,
    pub(super) field: Option<Access>,
}

impl Parameter {
    pub(super) const fn new(name: &'static str, kind: Kind, default: &'static str) -> Self {
        let change = Change::Anytime;
        Parameter {
            name,
            alias: None,
            kind,
            default,
            change,
            check: None,
            secret: false,
            hidden: false,
            field: None,
        }
    }

    pub(super) const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    pub(super) const fn at_start(mut self) -> Self {
        self.change = Change::AtStart;
        self
    }

    /// Makes the parameter [`Change::Fixed`]. For our own parameters: a client that sets all parameters that it has
    /// read must not fail at an unknown one.
    pub(super) const fn fixed(mut self) -> Self {
        self.change = Change::Fixed;
        self
    }

    pub(super) const fn protected(mut self) -> Self {
        self.change = Change::Protected;
        self
    }

    pub(super) const fn host(mut self, part: HostPart) -> Self {
        self.change = Change::Host(part);
        self
    }

    /// Adds a rule to those of the kind.
    pub(super) const fn check(mut self, check: ValueRule) -> Self {
        self.check = Some(check);
        self
    }

    pub(super) const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    pub(super) const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    pub(super) const fn field(mut self, field: Access) -> Self {
        self.field = Some(field);
        self
    }

    /// The names of the parameter.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.alias)
    }

    pub(super) fn is_called(&self, name: &[u8]) -> bool {
        self.names().any(|own| own.as_bytes().eq_ignore_ascii_case(name))
    }

    pub(super) fn takes_several(&self) -> bool {
        matches!(self.kind, Kind::Special(Grammar { several: true, .. }))
    }

    /// The value as CONFIG GET shows it.
    pub fn text(&self, value: &Value) -> Vec<u8> {
        match value {
            Value::Flag(on) => yes_or_no(*on).as_bytes().to_vec(),
            Value::Integer(number) => self.number_text(*number).into_bytes(),
            Value::Size(bytes) => bytes.to_string().into_bytes(),
            Value::Choice(word) => word.as_bytes().to_vec(),
            Value::Text(text) => text.clone(),
            Value::Events(classes) => classes.text().into_bytes(),
            Value::OutputLimits(limits) => limits.to_string().into_bytes(),
            Value::Time(time) => time_text(*time).into_bytes(),
            Value::Seed(seed) => seed.map_or_else(String::new, |seed| seed.to_string()).into_bytes(),
            Value::Words(words) => words.join(&b' '),
        }
    }

    fn number_text(&self, number: i64) -> String {
        match self.kind {
            Kind::Octal { .. } => format!("{number:o}"),
            Kind::SizeOrPercent if number < 0 => format!("{}%", number.unsigned_abs()),
            _ => number.to_string(),
        }
    }
}

fn time_text(time: TimeMode) -> String {
    match time {
        TimeMode::Real => "real".to_owned(),
        TimeMode::Manual => "manual".to_owned(),
        TimeMode::At(wall_ms) => instant::format(wall_ms),
    }
}

fn yes_or_no(on: bool) -> &'static str {
    if on { "yes" } else { "no" }
}
