//! Client-side caching: what each client is told, frame by frame as on redis-server, and its bounds.

mod beside;
mod bounds;
mod pauses;
mod sequences;

use lockwheel_engine::core::Simulation;

/// A client closes its connection, and the server notices.
fn leave(server: &mut Simulation, client: u64) {
    server.close(client);
    server.notice();
}
