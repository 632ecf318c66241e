//! The reading of the INFO of a master or a replica, and the reactions to it.

use super::effect::EventLevel;
use super::instance::{InstanceFlags, InstanceRole};
use super::periods::Period;
use super::state::Sentinel;
use super::watched::{FailoverState, Replica, Who};
use std::net::IpAddr;

const MAX_REPLICAS: usize = 1000;

/// The most names of replicas that are resolved because of one INFO. The sentinel waits for each.
const MAX_RESOLVED_NAMES: usize = 16;

#[derive(Debug, Default)]
struct Report {
    run_id: Option<String>,
    role: Option<InstanceRole>,
    /// The replicas that a master lists.
    replicas: Vec<(String, u16)>,
    master_link_down_ms: i64,
    master_host: Option<String>,
    master_port: Option<i64>,
    master_link_up: Option<bool>,
    priority: Option<i64>,
    offset: Option<u64>,
    announced: Option<bool>,
}

/// Reads a number as C's `atoi` does.
fn leading_number(text: &str) -> i64 {
    let digits = text
        .bytes()
        .enumerate()
        .take_while(|(at, byte)| byte.is_ascii_digit() || (*at == 0 && *byte == b'-'));
    text[..digits.count()].parse().unwrap_or(0)
}

impl Report {
    fn of(info: &str) -> Self {
        let mut report = Report::default();
        for line in info.split("\r\n") {
            if let Some((name, value)) = line.split_once(':') {
                report.line(name, value);
            }
        }
        report
    }

    fn line(&mut self, name: &str, value: &str) {
        match name {
            "run_id" if value.len() >= 40 => self.run_id = value.get(..40).map(str::to_owned),
            "role" if value.starts_with("master") => self.role = Some(InstanceRole::Master),
            "role" if value.starts_with("slave") => self.role = Some(InstanceRole::Replica),
            "master_link_down_since_seconds" => {
                self.master_link_down_ms = leading_number(value).saturating_mul(1000);
            }
            "master_host" => self.master_host = Some(value.to_owned()),
            "master_port" => self.master_port = Some(leading_number(value)),
            "master_link_status" => self.master_link_up = Some(value.eq_ignore_ascii_case("up")),
            "slave_priority" => self.priority = Some(leading_number(value)),
            "slave_repl_offset" => self.offset = Some(leading_number(value).unsigned_abs()),
            "replica_announced" => self.announced = Some(leading_number(value) != 0),
            name => {
                let number = name.strip_prefix("slave");
                let is_replica = number.and_then(|number| number.bytes().next());
                let has_room = self.replicas.len() < MAX_REPLICAS;
                if has_room && is_replica.is_some_and(|digit| digit.is_ascii_digit()) {
                    self.replicas.extend(listed_replica(value));
                }
            }
        }
    }
}

/// Reads a replica as its master lists it: `ip=…,port=…,…`, or in old versions `ip,port,state`.
fn listed_replica(text: &str) -> Option<(String, u16)> {
    let field = |name: &str| text.split(',').find_map(|field| field.strip_prefix(name));
    let (ip, port) = match (field("ip="), field("port=")) {
        (Some(ip), Some(port)) => (ip, port),
        _ => {
            let mut fields = text.split(',');
            (fields.next()?, fields.next()?)
        }
    };
    Some((ip.to_owned(), port.parse().ok()?))
}

impl Sentinel {
    /// Processes the INFO of a master or a replica.
    pub(super) fn refresh(&mut self, who: Who, info: Vec<u8>) {
        let report = Report::of(&String::from_utf8_lossy(&info));
        let now = self.now;
        let Some(at) = self.instance_mut(who) else { return };
        at.info = Some(info);
        self.note_run_id(who, &report);
        if let (Who::Master(master), Some(InstanceRole::Master)) = (who, report.role) {
            let mut resolved = 0;
            for (host, port) in &report.replicas {
                if self.knows_replica(master, host, *port) {
                    continue;
                }
                resolved += usize::from(host.parse::<IpAddr>().is_err());
                if resolved <= MAX_RESOLVED_NAMES {
                    self.found_replica(master, host, *port);
                }
            }
        }
        if let Who::Replica(master, id) = who
            && let Some(replica) = self.replica_mut(master, id)
        {
            replica.master_link_down = report.master_link_down_ms;
            if report.role == Some(InstanceRole::Replica) {
                note_replica(replica, &report, now);
            }
        }
        let Some(at) = self.instance_mut(who) else { return };
        at.info_refresh = now;
        let Some(role) = report.role else { return };
        self.note_role(who, role);
        // While the clock is not trusted, the sentinel only observes.
        if self.tilt_since.is_none()
            && let Who::Replica(master, id) = who
        {
            match role {
                InstanceRole::Master => self.replica_is_master(master, id),
                InstanceRole::Replica => self.replica_is_replica(master, id),
            }
        }
    }

    fn note_run_id(&mut self, who: Who, report: &Report) {
        let Some(run_id) = &report.run_id else { return };
        let now = self.now;
        let counts_reboots = self.master(who.master()).is_some_and(|master| master.reboot_down_after != 0);
        let Some(at) = self.instance_mut(who) else { return };
        if at.run_id.as_ref().is_some_and(|known| known != run_id) {
            if matches!(who, Who::Master(_)) && counts_reboots {
                at.flags.set(InstanceFlags::MASTER_REBOOT);
                at.rebooted_at = now;
            }
            self.event(EventLevel::Notice, "+reboot", who);
        }
        if let Some(at) = self.instance_mut(who) {
            at.run_id = Some(run_id.clone());
        }
    }

    /// Whether a replica is known by exactly this host.
    fn knows_replica(&self, master: u64, host: &str, port: u16) -> bool {
        self.master(master).is_some_and(|of| {
            of.replicas.values().any(|known| known.at.address.port == port && &*known.at.address.host == host)
        })
    }

    fn found_replica(&mut self, master: u64, host: &str, port: u16) {
        let Some(address) = self.address(host, port) else { return };
        if let Some(id) = self.add_replica(master, address) {
            self.event(EventLevel::Notice, "+slave", Who::Replica(master, id));
            self.unsaved = true;
        }
    }

    fn note_role(&mut self, who: Who, role: InstanceRole) {
        let now = self.now;
        let Some(at) = self.instance_mut(who) else { return };
        if at.role_reported == role {
            return;
        }
        at.role_reported = role;
        at.role_reported_at = now;
        if let (Who::Replica(master, id), InstanceRole::Replica) = (who, role)
            && let Some(replica) = self.replica_mut(master, id)
        {
            replica.conf_changed_at = now;
        }
        let is_as_expected = matches!(
            (who, role),
            (Who::Master(_), InstanceRole::Master) | (Who::Replica(..), InstanceRole::Replica)
        );
        let name = if is_as_expected { "+role-change" } else { "-role-change" };
        self.event_with(EventLevel::Verbose, name, who, &format!(" new reported role is {}", role.word()));
    }

    /// Reacts to a replica that says that it is a master: it was promoted, or it is a former master that has come back.
    fn replica_is_master(&mut self, master: u64, id: u64) {
        let (now, wait) = (self.now, self.period(Period::Publish) * 4);
        let (Some(of), Some(replica)) = (self.master(master), self.replica(master, id)) else { return };
        let is_promoted = replica.at.flags.has(InstanceFlags::PROMOTED);
        if is_promoted
            && of.at.flags.has(InstanceFlags::FAILOVER_IN_PROGRESS)
            && of.failover.state == FailoverState::WaitPromotion
        {
            return self.promoted(master, id);
        }
        if !is_promoted
            && self.looks_sane(master)
            && replica.at.no_down_for(wait, now)
            && now - replica.at.role_reported_at > wait
        {
            let address = of.at.address.clone();
            if self.send_slaveof(master, id, Some(&address)) {
                self.event(EventLevel::Notice, "+convert-to-slave", Who::Replica(master, id));
            }
        }
    }

    /// Records that the chosen replica is a master now. This sentinel's view of it is the newest.
    fn promoted(&mut self, master: u64, id: u64) {
        let now = self.now;
        let Some(of) = self.master_mut(master) else { return };
        of.config_epoch = of.failover.epoch;
        of.failover.state = FailoverState::ReconfSlaves;
        of.failover.since = now;
        self.unsaved = true;
        self.event(EventLevel::Warning, "+promoted-slave", Who::Replica(master, id));
        if self.failures.after_promotion {
            self.crash();
        }
        self.event(EventLevel::Warning, "+failover-state-reconf-slaves", Who::Master(master));
        self.force_hello(master);
    }

    fn replica_is_replica(&mut self, master: u64, id: u64) {
        self.fix_wrong_master(master, id);
        self.note_reconfigured(master, id);
    }

    /// Tells a replica the right master, if it has followed another one for too long.
    fn fix_wrong_master(&mut self, master: u64, id: u64) {
        let now = self.now;
        let (Some(of), Some(replica)) = (self.master(master), self.replica(master, id)) else { return };
        let Some(host) = &replica.master_host else { return };
        let follows =
            replica.master_port == i64::from(of.at.address.port) && self.is_host(&of.at.address, host);
        let wait = of.failover_timeout;
        if !follows
            && self.looks_sane(master)
            && replica.at.no_down_for(wait, now)
            && now - replica.conf_changed_at > wait
        {
            let address = of.at.address.clone();
            if self.send_slaveof(master, id, Some(&address)) {
                self.event(EventLevel::Notice, "+fix-slave-config", Who::Replica(master, id));
            }
        }
    }

    /// Records the progress of a replica that was told to follow the promoted one.
    fn note_reconfigured(&mut self, master: u64, id: u64) {
        let (Some(of), Some(replica)) = (self.master(master), self.replica(master, id)) else { return };
        let flags = replica.at.flags;
        if !flags.has(InstanceFlags::RECONF_SENT | InstanceFlags::RECONF_INPROG) {
            return;
        }
        let promoted = of.failover.promoted.and_then(|id| of.replicas.get(&id));
        let follows = promoted.zip(replica.master_host.as_ref()).is_some_and(|(promoted, host)| {
            let address = &promoted.at.address;
            self.is_host(address, host) && i64::from(address.port) == replica.master_port
        });
        let mut in_progress = flags.has(InstanceFlags::RECONF_INPROG);
        let is_done = replica.master_link_up;
        if flags.has(InstanceFlags::RECONF_SENT) && follows {
            in_progress = true;
            self.change_flags(master, id, InstanceFlags::RECONF_SENT, InstanceFlags::RECONF_INPROG);
            self.event(EventLevel::Notice, "+slave-reconf-inprog", Who::Replica(master, id));
        }
        if in_progress && is_done {
            self.change_flags(master, id, InstanceFlags::RECONF_INPROG, InstanceFlags::RECONF_DONE);
            self.event(EventLevel::Notice, "+slave-reconf-done", Who::Replica(master, id));
        }
    }

    pub(super) fn change_flags(&mut self, master: u64, id: u64, without: InstanceFlags, with: InstanceFlags) {
        if let Some(replica) = self.replica_mut(master, id) {
            replica.at.flags.clear(without);
            replica.at.flags.set(with);
        }
    }

    /// Whether a master is up and says that it is a master, according to recent data.
    fn looks_sane(&self, master: u64) -> bool {
        let late = self.period(Period::Info) * 2;
        self.master(master).is_some_and(|master| {
            master.at.role_reported == InstanceRole::Master
                && !master.at.is_down()
                && self.now - master.at.info_refresh < late
        })
    }
}

fn note_replica(replica: &mut Replica, report: &Report, now: i64) {
    if let Some(host) = &report.master_host
        && replica.master_host.as_ref() != Some(host)
    {
        replica.master_host = Some(host.clone());
        replica.conf_changed_at = now;
    }
    if let Some(port) = report.master_port
        && replica.master_port != port
    {
        replica.master_port = port;
        replica.conf_changed_at = now;
    }
    replica.master_link_up = report.master_link_up.unwrap_or(replica.master_link_up);
    replica.priority = report.priority.unwrap_or(replica.priority);
    replica.offset = report.offset.unwrap_or(replica.offset);
    replica.announced = report.announced.unwrap_or(replica.announced);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_listed_in_two_ways() {
        assert_eq!(listed_replica("ip=::1,port=7,state=online"), Some(("::1".to_owned(), 7)));
        assert_eq!(listed_replica("10.0.0.1,6379,online"), Some(("10.0.0.1".to_owned(), 6379)));
        assert_eq!(listed_replica("10.0.0.1"), None);
        assert_eq!(listed_replica("ip=a,port=99999"), None);
    }

    #[test]
    fn no_more_replicas_are_read_than_there_may_be() {
        let lines: String =
            (0..2000).map(|n| format!("slave{n}:ip=10.0.0.1,port={},state=online\r\n", n + 1)).collect();
        assert_eq!(Report::of(&lines).replicas.len(), MAX_REPLICAS);
    }

    #[test]
    fn the_leading_digits_of_a_number_are_read() {
        let numbers = ["12", "-1", "3x", "", "x"].map(leading_number);
        assert_eq!(numbers, [12, -1, 3, 0, 0]);
    }
}
