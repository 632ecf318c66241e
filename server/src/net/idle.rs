//! `idle-exit`: ends a server that has no clients.

use super::shared::Shared;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::error::RecvError;

/// Ends the server when it has had no client for `limit`, in the system's time.
pub(super) async fn watch(shared: Arc<Shared>, limit: Duration) {
    let idle = shared.shutdown.unless_requested(idle_for(&shared, limit)).await;
    if let Some(Ok(())) = idle {
        tracing::info!("No client for {} seconds.", limit.as_secs());
        shared.end();
    }
}

/// Waits until there has been no client for `limit`.
async fn idle_for(shared: &Shared, limit: Duration) -> Result<(), RecvError> {
    let mut clients = shared.client_limit.subscribe();
    loop {
        clients.wait_for(|&count| count == 0).await?;
        // A client that connects and leaves at once counts, too.
        match tokio::time::timeout(limit, clients.changed()).await {
            Ok(changed) => changed?,
            // A server has no clients yet while it loads its data.
            Err(_elapsed) if shared.is_loading() => {}
            Err(_elapsed) => return Ok(()),
        }
    }
}
