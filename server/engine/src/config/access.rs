//! CONFIG GET and CONFIG SET, as pure functions on a configuration.

use super::Config;
use super::parameter::{Change, HostPart, Parameter, ReadContext, Reason, Value};
use super::system_reason::system_reason;
use super::table::PARAMETERS;
use crate::spec::quotable;
use lockwheel_store::keyspace::glob;
use std::borrow::Cow;
use std::fmt;
use std::io;

/// The error reply of CONFIG SET, without the leading `-`. An error means that nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetError(Vec<u8>);

impl SetError {
    /// The reply, without the leading `-`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn unknown(name: &[u8]) -> Self {
        SetError(
            [b"ERR Unknown option or number of arguments for CONFIG SET - '", quotable(name), b"'"].concat(),
        )
    }

    fn because(name: &[u8], reason: &str) -> Self {
        let parts: [&[u8]; 4] =
            [b"ERR CONFIG SET failed (possibly related to argument '", name, b"') - ", reason.as_bytes()];
        SetError(parts.concat())
    }
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl std::error::Error for SetError {}

type Named = (&'static str, &'static Parameter);

/// The changes that CONFIG SET makes around the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostChanges {
    /// Whether the limit of clients is raised.
    pub clients: bool,
    /// Whether the parameters of connections over TLS change. The files are then read again.
    pub tls: bool,
}

/// The part of the host that could not apply the new parameters. The log has the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRefusal {
    /// The server cannot listen on the address or port.
    Listening,
    /// Connections over TLS are not possible with these parameters.
    Tls,
    /// The system has descriptors for only this number of clients.
    Clients(usize),
}

impl HostRefusal {
    /// The answer of CONFIG SET if the refusal concerns this part, else `None`.
    fn answer(self, part: HostPart) -> Option<Cow<'static, str>> {
        match (self, part) {
            (HostRefusal::Listening, HostPart::Addresses) => Some("Failed to bind to specified addresses.".into()),
            (HostRefusal::Listening, HostPart::Port | HostPart::TlsPort) => {
                Some("Unable to listen on this port. Check server logs.".into())
            }
            (HostRefusal::Tls, HostPart::Tls | HostPart::TlsPort) => {
                Some("Unable to update TLS configuration. Check server logs.".into())
            }
            (HostRefusal::Clients(most), HostPart::Clients) => Some(
                format!(
                    "The operating system is not able to handle the specified number of clients, try with {most}"
                )
                .into(),
            ),
            _ => None,
        }
    }
}

/// The host around the engine while CONFIG SET runs.
pub trait Surroundings {
    /// Returns the absolute path of a new working directory. `path` is relative to `directory`.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn enter(&self, directory: &str, path: &str) -> io::Result<String>;

    /// Applies parameters that are about to come into force. Called last, and only if something around the engine must
    /// change.
    ///
    /// # Errors
    /// Returns the part that fails. Nothing has changed then.
    fn follow(&self, parameters: &Config, changes: HostChanges) -> Result<(), HostRefusal>;
}

/// Surroundings without a host: the server cannot listen elsewhere.
struct Nothing;

impl Surroundings for Nothing {
    fn enter(&self, _: &str, path: &str) -> io::Result<String> {
        Ok(path.to_owned())
    }

    fn follow(&self, _: &Config, _: HostChanges) -> Result<(), HostRefusal> {
        Err(HostRefusal::Listening)
    }
}

/// A parameter's name and its value, as CONFIG GET replies them.
pub type Pair = (Vec<u8>, Vec<u8>);

impl Config {
    /// CONFIG GET: each parameter that a pattern matches, once. A name without `*`, `?` and `[` matches in either case,
    /// and is returned as the client wrote it. The matches of patterns follow in alphabetical order, without hidden
    /// parameters. O(patterns × parameters).
    pub fn get(&self, patterns: &[&[u8]]) -> Vec<Pair> {
        let (globs, names): (Vec<&[u8]>, Vec<&[u8]>) =
            patterns.iter().partition(|pattern| pattern.iter().any(|byte| b"*?[".contains(byte)));
        let mut pairs: Vec<Pair> = Vec::new();
        for name in names {
            if let Some(parameter) = find(name) {
                self.add(name, parameter, &mut pairs);
            }
        }
        let mut matching: Vec<(&str, &Parameter)> = PARAMETERS
            .iter()
            .filter(|parameter| !parameter.hidden)
            .flat_map(|parameter| parameter.names().map(move |name| (name, parameter)))
            .filter(|(name, _)| globs.iter().any(|pattern| glob::matches(pattern, name.as_bytes(), true)))
            .collect();
        matching.sort_unstable_by_key(|(name, _)| *name);
        for (name, parameter) in matching {
            self.add(name.as_bytes(), parameter, &mut pairs);
        }
        pairs
    }

    fn add(&self, name: &[u8], parameter: &Parameter, pairs: &mut Vec<Pair>) {
        if !pairs.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            pairs.push((name.to_vec(), parameter.text(&self.value(parameter))));
        }
    }

    /// CONFIG SET for a server that cannot listen elsewhere: see [`Config::set_within`].
    ///
    /// # Errors
    /// Returns the first reason for a refusal. Nothing has changed then.
    pub fn set(&mut self, pairs: &[(&[u8], &[u8])], local: bool) -> Result<(), SetError> {
        self.set_within(pairs, local, &Nothing)
    }

    /// CONFIG SET: gives parameters new values, all of them or none. `local`: whether the client is on this machine.
    ///
    /// # Errors
    /// Returns the first reason for a refusal. Nothing has changed then.
    pub fn set_within(
        &mut self,
        pairs: &[(&[u8], &[u8])],
        local: bool,
        around: &dyn Surroundings,
    ) -> Result<(), SetError> {
        let mut parts: Vec<(&'static str, HostPart)> = Vec::new();
        let parameters = self.settable(pairs, local)?;
        let mut changed = self.clone();
        for ((name, parameter), (_, text)) in parameters.into_iter().zip(pairs) {
            let words = split_value(parameter, text);
            let failed = |reason: Reason| SetError::because(name.as_bytes(), &reason);
            let value = changed.read(parameter, &words, false).map_err(failed)?;
            if let Change::Host(part) = parameter.change
                && (part == HostPart::Tls || parameter.text(&value) != parameter.text(&self.value(parameter)))
            {
                parts.push((parameter.name, part));
            }
            changed.store(parameter, value);
            if parameter.name == "dir" {
                let entered = around.enter(&self.dir, &changed.dir);
                changed.dir = entered.map_err(|error| failed(system_reason(&error).into()))?;
            }
        }
        // Without a port no file is read: then Redis, too, accepts any value.
        let has_tls = changed.tls.port.is_some();
        parts.retain(|(_, part)| has_tls || *part != HostPart::Tls);
        let tls = has_tls && parts.iter().any(|(_, part)| matches!(part, HostPart::Tls | HostPart::TlsPort));
        let clients = changed.maxclients > self.maxclients;
        if !parts.is_empty()
            && let Err(refusal) = around.follow(&changed, HostChanges { clients, tls })
        {
            let answers = |(name, part): &(&'static str, HostPart)| Some((*name, refusal.answer(*part)?));
            // A refusal that concerns none of the changed parameters is ignored.
            if let Some((name, answer)) = parts.iter().find_map(answers) {
                return Err(SetError::because(name.as_bytes(), &answer));
            }
        }
        *self = changed;
        Ok(())
    }

    /// Returns the changes around the engine that other parameters need. `None`: the host needs none.
    pub(crate) fn host_changes(&self, to: &Config) -> Option<HostChanges> {
        let differs = |parameter: &Parameter| {
            matches!(parameter.change, Change::Host(_))
                && parameter.text(&self.value(parameter)) != parameter.text(&to.value(parameter))
        };
        PARAMETERS.iter().any(differs).then(|| HostChanges {
            clients: to.maxclients > self.maxclients,
            tls: to.tls.port.is_some() && to.tls != self.tls,
        })
    }

    /// The named parameters, each with the name that was used: all known, changeable, and named once.
    fn settable(&self, pairs: &[(&[u8], &[u8])], local: bool) -> Result<Vec<Named>, SetError> {
        let mut named: Vec<Named> = Vec::new();
        for (given, text) in pairs {
            let parameter = find(given).ok_or_else(|| SetError::unknown(given))?;
            match parameter.change {
                Change::Fixed if parameter.text(&self.value(parameter)) == *text => {}
                Change::AtStart | Change::Fixed => {
                    return Err(SetError::because(given, "can't set immutable config"));
                }
                Change::Protected if !self.enable_protected_configs.allows(local) => {
                    return Err(SetError::because(given, "can't set protected config"));
                }
                _ => {}
            }
            // Here an alias counts as another parameter.
            let name = parameter.names().find(|name| name.as_bytes().eq_ignore_ascii_case(given));
            let name = name.unwrap_or(parameter.name);
            if named.iter().any(|(other, _)| *other == name) {
                return Err(SetError::because(given, "duplicate parameter"));
            }
            named.push((name, parameter));
        }
        Ok(named)
    }

    /// Reads the words of a parameter's value. `again`: whether the text being loaded has set the parameter before.
    pub(super) fn read(
        &self,
        parameter: &'static Parameter,
        words: &[&[u8]],
        again: bool,
    ) -> Result<Value, Reason> {
        parameter.read(words, &ReadContext { config: self, parameter, again })
    }

    pub(super) fn value(&self, parameter: &Parameter) -> Value {
        if let Some(field) = parameter.field {
            return (field.get)(self);
        }
        self.kept.get(parameter.name).cloned().unwrap_or_else(|| parameter.default_value())
    }

    pub(super) fn store(&mut self, parameter: &Parameter, value: Value) {
        match parameter.field {
            Some(field) => (field.set)(self, value),
            None => drop(self.kept.insert(parameter.name, value)),
        }
    }
}

impl Parameter {
    /// The value of an unset parameter without a field: the text of its default.
    fn default_value(&self) -> Value {
        Value::Text(self.default.as_bytes().to_vec())
    }
}

/// The parameter of this name, in either case. O(parameters).
pub(super) fn find(name: &[u8]) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.is_called(name))
}

/// The words of a value given as one word: split at each space if the parameter takes several.
pub(super) fn split_value<'a>(parameter: &Parameter, text: &'a [u8]) -> Vec<&'a [u8]> {
    if !parameter.takes_several() {
        return vec![text];
    }
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|&byte| byte == b' ').collect()
}
