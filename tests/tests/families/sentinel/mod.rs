//! Sentinels of ours beside Redis' own: the same answers, and they watch one another's servers and vote.

mod announced;
mod failover;
mod logs;
mod process;
mod replies;
mod told;
