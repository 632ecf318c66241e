//! Requests that wait for keys whose slot has moved to another node of the cluster.

use super::state::{Blocked, Retry, Waits};
use crate::cluster::RequestRouter;
use crate::spec::{Args, CommandError};

impl Waits {
    pub(crate) fn redirected(&self, router: RequestRouter<'_>) -> Vec<(u64, CommandError)> {
        let redirect = |(id, blocked): (u64, &Blocked)| {
            let Retry::OnKeys(on) = &blocked.retry else { return None };
            let argv = blocked.request.argv();
            let key = on.keys.first().and_then(|key| argv.get(*key))?;
            let redirect = router.redirect_waiting(id, router.commands.get(blocked.command), key)?;
            Some((id, router.error(redirect)))
        };
        self.iter().filter_map(redirect).collect()
    }

    /// Returns the error of a waiting request whose slot has moved to another node, as if the request came now. A retry
    /// on this node would find a lock free that is held on the other one.
    pub(crate) fn redirect_of(&self, id: u64, router: RequestRouter<'_>) -> Option<CommandError> {
        let blocked = self.get(id)?;
        let Retry::OnKeys(_) = &blocked.retry else { return None };
        let argv = blocked.request.argv();
        let routed = router.route_again(id, router.commands.get(blocked.command), Args::new(&argv));
        routed.err().map(|redirect| router.error(redirect))
    }
}
