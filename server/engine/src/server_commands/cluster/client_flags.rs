//! ASKING, READONLY and READWRITE: a client's declarations about its requests. In a script they have no effect.

use crate::cluster::{ClusterControl, ClusterOutcome, ClusterRequest};
use crate::spec::Args;

pub(super) fn asking(control: &mut ClusterControl<'_>, _: Args<'_>) -> ClusterOutcome {
    if !control.is_of_script {
        control.cluster.set_asking(control.session, true);
    }
    Ok(ClusterRequest::Done)
}

pub(super) fn read_only(control: &mut ClusterControl<'_>, _: Args<'_>) -> ClusterOutcome {
    set_read_only(control, true)
}

pub(super) fn read_write(control: &mut ClusterControl<'_>, _: Args<'_>) -> ClusterOutcome {
    set_read_only(control, false)
}

fn set_read_only(control: &mut ClusterControl<'_>, read_only: bool) -> ClusterOutcome {
    if !control.is_of_script {
        control.cluster.set_read_only(control.session, read_only);
    }
    Ok(ClusterRequest::Done)
}
