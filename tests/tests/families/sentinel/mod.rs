//! Sentinels of ours compared with Redis' own: they give the same answers, watch one another's servers and vote
//! together.

mod announced;
mod failover;
mod logs;
mod process;
mod replies;
mod server_events;
