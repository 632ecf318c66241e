//! The failures of locks in `docs/scenarios.md`, each played on a server with a manual clock: with the mistake, which
//! is found, and without. The clients are the real Redisson, an old and a new version, and native locks.

mod abba_deadlock;
mod acquire_reply_lost;
mod delete_anothers_lock;
mod heirs;
mod interrupted;
mod lease_outlived;
mod lost_on_failover;
mod missed_wakeup;
mod pair;
mod real_shapes;
mod real_shapes_of_redlock;
mod redlock_split_vote;
mod redlock_through_failover;
mod replica_never_acks;
mod stage;
mod thundering_herd;
mod token_regress;
mod unlock_reply_lost;
mod votes;
mod watchdog_starved;
