//! The choice of the replica that becomes the master.

use super::instance::InstanceFlags;
use super::periods::Period;
use super::state::Sentinel;
use super::watched::Replica;
use std::cmp::Reverse;

impl Sentinel {
    /// Returns the replica to promote. Candidates are up and were connected to their master until recently. The lowest
    /// priority wins, then the largest replication offset, then the first run id.
    pub(super) fn best_replica(&self, master: u64) -> Option<u64> {
        let of = self.master(master)?;
        let is_down = of.at.flags.has(InstanceFlags::S_DOWN);
        let down_for = if is_down { self.now - of.at.s_down_since } else { 0 };
        let link_down_max = down_for.saturating_add(of.down_after.saturating_mul(10));
        let info_valid = if is_down { self.period(Period::Ping) * 5 } else { self.period(Period::Info) * 3 };
        let ping_valid = self.period(Period::Ping) * 5;
        let is_good = |replica: &Replica| {
            !replica.at.is_down()
                && !replica.at.link.disconnected
                && self.now - replica.at.link.last_available <= ping_valid
                && replica.priority != 0
                && self.now - replica.at.info_refresh <= info_valid
                && replica.master_link_down <= link_down_max
        };
        let good = of.replicas.iter().filter(|(_, replica)| is_good(replica));
        let rank = |replica: &Replica| {
            let run_id = replica.at.run_id.as_ref().map(|id| id.to_ascii_lowercase());
            (replica.priority, Reverse(replica.offset), run_id.is_none(), run_id)
        };
        good.min_by_key(|(_, replica)| rank(replica)).map(|(id, _)| *id)
    }
}
