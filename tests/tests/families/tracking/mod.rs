//! Client-side caching: the frames of each client, compared with redis-server's one by one, and its bounds.

mod bounds;
mod frames;
mod pauses;
mod sequences;

use lockwheel_engine::core::Simulation;

/// A client closes its connection, and the server notices.
fn leave(server: &mut Simulation, client: u64) {
    server.close(client);
    server.notice();
}
