//! The `sentinel …` lines of a configuration file.

use super::address::InstanceAddress;
use super::periods::Period;
use super::state::Sentinel;
use super::watch::{BAD_PORT, NO_ADDRESS};

/// A line of a configuration file that begins with `sentinel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentinelLine {
    /// The number of the line in its file, from 1.
    pub(crate) number: usize,
    /// The line as it stands in the file.
    pub(crate) text: String,
    /// The words behind `sentinel`, at least one.
    pub(crate) words: Vec<Vec<u8>>,
}

const UNKNOWN: &str = "Unrecognized sentinel configuration statement.";
const NO_MASTER: &str = "No such master with specified name.";
const NOT_POSITIVE: &str = "negative or zero time parameter.";
const NO_SCRIPT: &str = "Notification script seems non existing or non executable.";
const NO_CLIENT_SCRIPT: &str = "Client reconfiguration script seems non existing or non executable.";

/// The rank in which lines are applied: first those about the sentinel itself, then masters, then lines about masters.
fn rank(word: &str) -> u8 {
    match word {
        "announce-ip"
        | "announce-port"
        | "deny-scripts-reconfig"
        | "sentinel-user"
        | "sentinel-pass"
        | "current-epoch"
        | "myid"
        | "resolve-hostnames"
        | "announce-hostnames" => 0,
        "monitor" => 1,
        _ => 2,
    }
}

/// Reads a number as C's `strtoull` does: the digits at the beginning.
fn unsigned(text: &str) -> u64 {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().unwrap_or(0)
}

/// Reads a number as C's `atoi` does. 0 if the text is no number.
fn signed(text: &str) -> i64 {
    match text.strip_prefix('-') {
        Some(text) => -i64::try_from(unsigned(text)).unwrap_or(i64::MAX),
        None => i64::try_from(unsigned(text)).unwrap_or(i64::MAX),
    }
}

fn yes_or_no(text: &str, name: &str, noun: &str) -> Result<bool, String> {
    match text {
        _ if text.eq_ignore_ascii_case("yes") => Ok(true),
        _ if text.eq_ignore_ascii_case("no") => Ok(false),
        _ => Err(format!("Please specify yes or no for the {name} {noun}.")),
    }
}

impl Sentinel {
    /// Applies lines of a configuration file. Returns the first wrong one, and the reason.
    pub(crate) fn configure<'a>(
        &mut self,
        lines: &'a [SentinelLine],
    ) -> Result<(), (&'a SentinelLine, String)> {
        let words = |line: &SentinelLine| {
            line.words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
        };
        let mut ranked: Vec<(u8, &SentinelLine)> = lines
            .iter()
            .map(|line| {
                (rank(&words(line).first().map(|word| word.to_ascii_lowercase()).unwrap_or_default()), line)
            })
            .collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        for (_, line) in ranked {
            let words = words(line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let name = words.first().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
            let done = match words.get(1..).unwrap_or_default() {
                [value] => self.own_directive(&name, value, &line.words[1]),
                [master, values @ ..] => self.master_directive(&name, master, values, &line.words[2..]),
                [] => Err(UNKNOWN.to_owned()),
            };
            done.map_err(|reason| (line, reason))?;
        }
        Ok(())
    }

    /// Applies a line about the sentinel itself, which has one value.
    fn own_directive(&mut self, name: &str, value: &str, raw: &[u8]) -> Result<(), String> {
        match name {
            "current-epoch" => self.current_epoch = self.current_epoch.max(unsigned(value)),
            "myid" if value.len() == 40 && value.is_ascii() => value.clone_into(&mut self.own.id),
            "myid" => return Err("Malformed Sentinel id in myid option.".to_owned()),
            "announce-ip" => self.own.announce_ip = Some(raw.to_vec()).filter(|ip| !ip.is_empty()),
            "announce-port" => {
                self.own.announce_port = u16::try_from(signed(value)).map_err(|_| BAD_PORT.to_owned())?;
            }
            "deny-scripts-reconfig" => self.own.deny_scripts_reconfig = yes_or_no(value, name, "options")?,
            "resolve-hostnames" => self.own.resolve_hostnames = yes_or_no(value, name, "option")?,
            "announce-hostnames" => self.own.announce_hostnames = yes_or_no(value, name, "option")?,
            "sentinel-user" => self.own.login.user = Some(raw.to_vec()).filter(|user| !user.is_empty()),
            "sentinel-pass" => self.own.login.password = Some(raw.to_vec()).filter(|pass| !pass.is_empty()),
            _ => return Err(UNKNOWN.to_owned()),
        }
        Ok(())
    }

    /// Applies a line about a master.
    fn master_directive(
        &mut self,
        name: &str,
        master: &str,
        values: &[&str],
        raw: &[Vec<u8>],
    ) -> Result<(), String> {
        if let ("monitor", [host, port, quorum]) = (name, values) {
            let added = self.add_master(master, host, signed(port), signed(quorum));
            return added.map(drop).map_err(str::to_owned);
        }
        let is_known = matches!(
            (name, values.len()),
            ("down-after-milliseconds" | "failover-timeout" | "parallel-syncs", 1)
                | ("notification-script" | "client-reconfig-script" | "auth-pass" | "auth-user", 1)
                | ("config-epoch" | "leader-epoch" | "master-reboot-down-after-period", 1)
                | ("known-replica" | "known-slave" | "known-sentinel" | "rename-command", 2)
                | ("known-sentinel", 3)
        );
        if !is_known {
            return Err(UNKNOWN.to_owned());
        }
        let id = self.named(master.as_bytes()).ok_or(NO_MASTER)?;
        match (name, values) {
            ("known-replica" | "known-slave", [host, port]) => {
                let address = self.known(host, port)?;
                let added = self.add_replica(id, address);
                added.map(drop).ok_or_else(|| "Duplicate hostname and port for replica.".to_owned())
            }
            // A sentinel without a run id is not added. It will announce itself.
            ("known-sentinel", [host, port]) => self.known(host, port).map(drop),
            ("known-sentinel", [host, port, run_id]) => {
                let address = self.known(host, port)?;
                let added = self.add_peer(id, run_id, address);
                added.map(drop).ok_or_else(|| "Duplicate runid for sentinel.".to_owned())
            }
            ("rename-command", [old, _]) => self.rename(id, old, &raw[1]),
            (_, [value]) => self.parameter_of_master(id, name, value, &raw[0]),
            _ => Err(UNKNOWN.to_owned()),
        }
    }

    fn known(&self, host: &str, port: &str) -> Result<InstanceAddress, String> {
        let port = u16::try_from(signed(port)).map_err(|_| BAD_PORT.to_owned())?;
        self.address(host, port).ok_or_else(|| NO_ADDRESS.to_owned())
    }

    fn rename(&mut self, master: u64, old: &str, new: &[u8]) -> Result<(), String> {
        let Some(of) = self.master_mut(master) else { return Ok(()) };
        match of.renames.insert(old.to_ascii_lowercase(), new.to_vec()) {
            Some(_) => Err("Same command renamed multiple times with rename-command.".to_owned()),
            None => Ok(()),
        }
    }

    fn parameter_of_master(&mut self, id: u64, name: &str, value: &str, raw: &[u8]) -> Result<(), String> {
        let text = || Some(raw.to_vec()).filter(|text| !text.is_empty());
        let positive = || Some(signed(value)).filter(|ms| *ms > 0).ok_or_else(|| NOT_POSITIVE.to_owned());
        let Some(of) = self.master_mut(id) else { return Ok(()) };
        match name {
            "down-after-milliseconds" => of.down_after = positive()?,
            "failover-timeout" => of.failover_timeout = positive()?,
            "parallel-syncs" => of.parallel_syncs = u32::try_from(signed(value)).unwrap_or(1),
            "auth-pass" => of.login.password = text(),
            "auth-user" => of.login.user = text(),
            "leader-epoch" => of.leader_epoch = unsigned(value),
            "notification-script" => return Err(NO_SCRIPT.to_owned()),
            "client-reconfig-script" => return Err(NO_CLIENT_SCRIPT.to_owned()),
            "master-reboot-down-after-period" => {
                let negative = || "negative time parameter.".to_owned();
                of.reboot_down_after = Some(signed(value)).filter(|ms| *ms >= 0).ok_or_else(negative)?;
            }
            _ => {
                of.config_epoch = unsigned(value);
                let epoch = of.config_epoch;
                self.current_epoch = self.current_epoch.max(epoch);
            }
        }
        Ok(())
    }
}

/// The names of the lines that a sentinel writes or replaces.
pub(crate) const WRITTEN: [&str; 22] = [
    "myid",
    "deny-scripts-reconfig",
    "resolve-hostnames",
    "announce-hostnames",
    "monitor",
    "down-after-milliseconds",
    "failover-timeout",
    "parallel-syncs",
    "auth-pass",
    "auth-user",
    "master-reboot-down-after-period",
    "config-epoch",
    "leader-epoch",
    "known-replica",
    "known-slave",
    "known-sentinel",
    "rename-command",
    "current-epoch",
    "announce-ip",
    "announce-port",
    "sentinel-user",
    "sentinel-pass",
];

/// A line to be written: its name, its words, and whether it is added if the file has no such line yet.
pub(crate) type WrittenLine = (&'static str, Vec<Vec<u8>>, bool);

fn words(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn yes(flag: bool) -> Vec<Vec<u8>> {
    words(&[if flag { "yes" } else { "no" }])
}

impl Sentinel {
    /// The lines with all that the sentinel must know after a restart.
    pub(crate) fn lines(&self) -> Vec<WrittenLine> {
        let own = &self.own;
        let mut lines = vec![
            ("myid", words(&[&own.id]), true),
            ("deny-scripts-reconfig", yes(own.deny_scripts_reconfig), !own.deny_scripts_reconfig),
            ("resolve-hostnames", yes(own.resolve_hostnames), own.resolve_hostnames),
            ("announce-hostnames", yes(own.announce_hostnames), own.announce_hostnames),
        ];
        self.masters.keys().for_each(|id| self.lines_of(*id, &mut lines));
        lines.push(("current-epoch", words(&[&self.current_epoch.to_string()]), true));
        lines.extend(own.announce_ip.iter().map(|ip| ("announce-ip", vec![ip.clone()], true)));
        if own.announce_port > 0 {
            lines.push(("announce-port", words(&[&own.announce_port.to_string()]), true));
        }
        lines.extend(own.login.user.iter().map(|user| ("sentinel-user", vec![user.clone()], true)));
        lines.extend(own.login.password.iter().map(|pass| ("sentinel-pass", vec![pass.clone()], true)));
        lines
    }

    fn lines_of(&self, id: u64, lines: &mut Vec<WrittenLine>) {
        let Some(of) = self.master(id) else { return };
        let name = of.at.name.as_str();
        let address = of.current_address();
        let place = |address: &InstanceAddress| (self.shown(address).to_owned(), address.port.to_string());
        let (ip, port) = place(address);
        lines.push(("monitor", words(&[name, &ip, &port, &of.quorum.to_string()]), true));
        let numbers = [
            ("down-after-milliseconds", of.down_after, self.period(Period::DefaultDownAfter)),
            ("failover-timeout", of.failover_timeout, self.period(Period::DefaultFailoverTimeout)),
            ("parallel-syncs", i64::from(of.parallel_syncs), 1),
        ];
        for (key, value, default) in numbers {
            if value != default {
                lines.push((key, words(&[name, &value.to_string()]), true));
            }
        }
        let secret = |text: &Vec<u8>| vec![name.as_bytes().to_vec(), text.clone()];
        lines.extend(of.login.password.iter().map(|text| ("auth-pass", secret(text), true)));
        lines.extend(of.login.user.iter().map(|text| ("auth-user", secret(text), true)));
        if of.reboot_down_after != 0 {
            let ms = of.reboot_down_after.to_string();
            lines.push(("master-reboot-down-after-period", words(&[name, &ms]), true));
        }
        lines.push(("config-epoch", words(&[name, &of.config_epoch.to_string()]), true));
        lines.push(("leader-epoch", words(&[name, &of.leader_epoch.to_string()]), true));
        for replica in of.replicas.values() {
            // The future master is written as the master. Then the old master is written as a replica.
            let known = &replica.at.address;
            let (ip, port) = place(if known.is(address) { &of.at.address } else { known });
            lines.push(("known-replica", words(&[name, &ip, &port]), true));
        }
        for peer in of.peers.values() {
            let (ip, port) = place(&peer.at.address);
            lines.push(("known-sentinel", words(&[name, &ip, &port, &peer.at.name]), true));
        }
        for (old, new) in &of.renames {
            let line = [words(&[name, old]), vec![new.clone()]].concat();
            lines.push(("rename-command", line, true));
        }
    }
}
