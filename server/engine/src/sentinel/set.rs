//! The changes that SENTINEL commands make.

use super::effect::EventLevel;
use super::instance::InstanceFlags;
use super::state::Sentinel;
use super::watch::WatchRefusal;
use super::watched::Who;
use lockwheel_resp::number;
use lockwheel_store::keyspace::glob;

/// The reason why SENTINEL SET changes nothing. A number is the place, from 0, of the word that is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetOptionError {
    /// The option does not exist, or needs more words.
    Unknown(usize),
    /// The word at `at` is not a valid value of the option.
    Invalid { option: usize, at: usize },
    /// The option would set a script, which is not supported.
    Script { client: bool },
    /// The option would set a script, and commands may not change scripts.
    Denied,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    DownAfter(i64),
    FailoverTimeout(i64),
    ParallelSyncs(u32),
    RebootDownAfter(i64),
    Password(Option<Vec<u8>>),
    User(Option<Vec<u8>>),
    Quorum(u32),
    Rename(String, Vec<u8>),
}

fn positive(word: &[u8]) -> Option<i64> {
    number::parse_i64(word).filter(|value| *value > 0)
}

fn count(word: &[u8]) -> Option<u32> {
    positive(word).and_then(|value| i32::try_from(value).ok()).map(i32::unsigned_abs)
}

impl Sentinel {
    /// Changes parameters of a master: options and their values, all of them or none. Returns the first error.
    pub(crate) fn set(&mut self, master: u64, words: &[&[u8]]) -> Result<(), SetOptionError> {
        let mut changes = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let (change, len) = self.read_change(words, at)?;
            changes.push((change, &words[at..at + len]));
            at += len;
        }
        for (change, words) in changes {
            let is_secret = matches!(change, Change::Password(_));
            self.change(master, change);
            let shown = words.iter().enumerate().map(|(at, word)| match at {
                1 if is_secret => " ******".to_owned(),
                _ => format!(" {}", String::from_utf8_lossy(word)),
            });
            let shown: String = shown.collect();
            self.event_with(EventLevel::Warning, "+set", Who::Master(master), &shown);
        }
        self.unsaved = true;
        Ok(())
    }

    /// Returns the change that an option asks for, and the number of its words.
    fn read_change(&self, words: &[&[u8]], at: usize) -> Result<(Change, usize), SetOptionError> {
        let option = words[at].to_ascii_lowercase();
        let invalid = |at_word: usize| SetOptionError::Invalid { option: at, at: at_word };
        let Some(value) = words.get(at + 1).copied() else { return Err(SetOptionError::Unknown(at)) };
        let text = || Some(value.to_vec()).filter(|text| !text.is_empty());
        let ms = || positive(value).ok_or(invalid(at + 1));
        let number = || count(value).ok_or(invalid(at + 1));
        let change = match &*option {
            b"down-after-milliseconds" => Change::DownAfter(ms()?),
            b"failover-timeout" => Change::FailoverTimeout(ms()?),
            b"parallel-syncs" => Change::ParallelSyncs(number()?),
            b"quorum" => Change::Quorum(number()?),
            b"auth-pass" => Change::Password(text()),
            b"auth-user" => Change::User(text()),
            b"master-reboot-down-after-period" => {
                let ms = number::parse_i64(value).filter(|ms| *ms >= 0);
                Change::RebootDownAfter(ms.ok_or(invalid(at + 1))?)
            }
            b"notification-script" | b"client-reconfig-script" if self.own.deny_scripts_reconfig => {
                return Err(SetOptionError::Denied);
            }
            b"notification-script" => return Err(SetOptionError::Script { client: false }),
            b"client-reconfig-script" => return Err(SetOptionError::Script { client: true }),
            b"rename-command" => {
                let Some(new) = words.get(at + 2) else { return Err(SetOptionError::Unknown(at)) };
                let old = std::str::from_utf8(value).ok().filter(|old| !old.is_empty());
                let old = old.ok_or(invalid(at + 1))?;
                if new.is_empty() {
                    return Err(invalid(at + 2));
                }
                return Ok((Change::Rename(old.to_ascii_lowercase(), new.to_vec()), 3));
            }
            _ => return Err(SetOptionError::Unknown(at)),
        };
        Ok((change, 2))
    }

    fn change(&mut self, master: u64, change: Change) {
        let Some(of) = self.master_mut(master) else { return };
        let mut logs_in = false;
        match change {
            Change::DownAfter(ms) => of.down_after = ms,
            Change::FailoverTimeout(ms) => of.failover_timeout = ms,
            Change::ParallelSyncs(count) => of.parallel_syncs = count,
            Change::RebootDownAfter(ms) => of.reboot_down_after = ms,
            Change::Quorum(quorum) => of.quorum = quorum,
            Change::Password(password) => (of.login.password, logs_in) = (password, true),
            Change::User(user) => (of.login.user, logs_in) = (user, true),
            Change::Rename(old, new) if old.as_bytes().eq_ignore_ascii_case(&new) => {
                of.renames.remove(&old);
            }
            Change::Rename(old, new) => drop(of.renames.insert(old, new)),
        }
        if logs_in {
            self.drop_connections(master);
        }
    }

    /// SENTINEL MONITOR: watches a master from now on, or returns the reason why it cannot.
    pub(crate) fn monitor(
        &mut self,
        name: &str,
        host: &str,
        port: i64,
        quorum: i64,
    ) -> Result<(), WatchRefusal> {
        if quorum > 0 && self.resolver.ip(host, self.own.resolve_hostnames).is_none() {
            return Err("Invalid IP address or hostname specified");
        }
        let id = self.add_master(name, host, port, quorum)?;
        self.announce_master(id);
        self.unsaved = true;
        Ok(())
    }

    /// SENTINEL FAILOVER: begins a failover without asking other sentinels, or returns the error with its code.
    pub(crate) fn force_failover(&mut self, master: u64) -> Result<(), &'static str> {
        let Some(of) = self.master(master) else { return Ok(()) };
        if of.at.flags.has(InstanceFlags::FAILOVER_IN_PROGRESS) {
            return Err("INPROG Failover already in progress");
        }
        let name = of.at.name.clone();
        if self.best_replica(master).is_none() {
            return Err("NOGOODSLAVE No suitable replica to promote");
        }
        self.log(EventLevel::Warning, format!("Executing user requested FAILOVER of '{name}'"));
        self.begin_failover(master);
        self.master_mut(master).into_iter().for_each(|of| of.at.flags.set(InstanceFlags::FORCE_FAILOVER));
        Ok(())
    }

    /// The sentinel's own parameters whose names match, with their values.
    pub(crate) fn own_parameters(&self, pattern: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let own = &self.own;
        let word = |flag: bool| if flag { b"yes".to_vec() } else { b"no".to_vec() };
        let all = [
            ("resolve-hostnames", word(own.resolve_hostnames)),
            ("announce-hostnames", word(own.announce_hostnames)),
            ("announce-ip", own.announce_ip.clone().unwrap_or_default()),
            ("announce-port", own.announce_port.to_string().into_bytes()),
            ("sentinel-user", own.login.user.clone().unwrap_or_default()),
            ("sentinel-pass", own.login.password.clone().unwrap_or_default()),
        ];
        all.into_iter().filter(|(name, _)| glob::matches(pattern, name.as_bytes(), true)).collect()
    }

    /// Changes one of the sentinel's own parameters. `None`: there is none of this name; false: a wrong value.
    pub(crate) fn set_own(&mut self, name: &[u8], value: &[u8]) -> Option<bool> {
        let flag = match &*value.to_ascii_lowercase() {
            b"yes" => Some(true),
            b"no" => Some(false),
            _ => None,
        };
        let text = || Some(value.to_vec()).filter(|text| !text.is_empty());
        let own = &mut self.own;
        let done = match &*name.to_ascii_lowercase() {
            b"resolve-hostnames" => flag.map(|flag| own.resolve_hostnames = flag).is_some(),
            b"announce-hostnames" => flag.map(|flag| own.announce_hostnames = flag).is_some(),
            b"announce-ip" => {
                own.announce_ip = text();
                true
            }
            b"announce-port" => {
                let port = number::parse_i64(value).and_then(|port| u16::try_from(port).ok());
                port.map(|port| own.announce_port = port).is_some()
            }
            b"sentinel-user" => {
                own.login.user = text();
                self.drop_peer_connections();
                true
            }
            b"sentinel-pass" => {
                own.login.password = text();
                self.drop_peer_connections();
                true
            }
            _ => return None,
        };
        self.unsaved |= done;
        Some(done)
    }

    /// Closes the connections to all other sentinels, so that they are opened again with another password.
    fn drop_peer_connections(&mut self) {
        for master in self.masters.keys().copied().collect::<Vec<_>>() {
            for id in self.peer_ids(master) {
                self.close_both(Who::Peer(master, id));
            }
        }
    }
}
