//! A parameter: its row, its kinds of value, and how a value is read.

use super::{Config, OutputLimits, TimeMode, instant};
use lockwheel_store::keyspace::EventClasses;
use std::borrow::Cow;

/// Why a value is refused, in Redis' words.
pub(super) type Reason = Cow<'static, str>;

/// What the reading of a value may depend on besides its words.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) parameter: &'static Parameter,
    /// Whether the text being loaded has set the parameter before.
    pub(super) again: bool,
}

impl Context<'_> {
    /// The value in force.
    pub(super) fn current(&self) -> Value {
        self.config.value(self.parameter)
    }
}

/// Reads the words of a parameter that has a grammar of its own.
pub(super) type Read = fn(&[&[u8]], &Context<'_>) -> Result<Value, Reason>;

/// A rule for values beyond what the kind asks for.
pub(super) type Rule = fn(&Value) -> Result<(), Reason>;

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
    /// Limits of pending replies.
    OutputLimits(OutputLimits),
    /// Whether time runs.
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
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A number of bytes with an optional unit, between two bounds, both included.
    Size {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// An octal number, up to a bound.
    Octal {
        /// The greatest.
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

/// How a parameter with a grammar of its own is read.
#[derive(Clone, Copy, Debug)]
pub struct Grammar {
    /// Whether there may be several words, or none.
    pub(super) several: bool,
    pub(super) read: Read,
}

/// When a parameter may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// At any time.
    Anytime,
    /// At the start only.
    AtStart,
    /// At the start only; CONFIG SET takes the value that it has, so that what CONFIG GET lists can be written back.
    Fixed,
    /// At any time, by clients that `enable-protected-configs` allows.
    Protected,
    /// At any time, if what is around the engine can follow.
    Host(HostPart),
}

/// What a parameter changes around the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPart {
    /// The addresses that are listened on.
    Addresses,
    /// The port that is listened on for plain connections.
    Port,
    /// The port that is listened on for connections over TLS.
    TlsPort,
    /// How many clients there may be.
    Clients,
    /// How connections over TLS are made. A value given again counts as another: files are read anew.
    Tls,
}

/// How the typed field of a parameter is read and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) get: fn(&Config) -> Value,
    pub(super) set: fn(&mut Config, Value),
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its other name; CONFIG GET shows both.
    pub alias: Option<&'static str>,
    /// The values it takes.
    pub kind: Kind,
    /// Its value when nothing sets it, as CONFIG GET shows it.
    pub default: &'static str,
    /// When it may change.
    pub change: Change,
    pub(super) check: Option<Rule>,
    /// Its value is a secret.
    pub(super) secret: bool,
    /// CONFIG GET shows it when it is asked for by its name, but not by a pattern.
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

    /// Of our own parameters: a client that sets all that it has read must not fail at one that it does not know.
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

    /// A rule beyond the kind's own.
    pub(super) const fn check(mut self, check: Rule) -> Self {
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

    /// Its names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.alias)
    }

    /// Whether this is one of its names, in either case.
    pub(super) fn is_called(&self, name: &[u8]) -> bool {
        self.names().any(|own| own.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether it takes several words, or none.
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
