//! Nodes of clusters: compared with those of redis-server in the same shape, and used by clients and redis-cli.

mod alone;
mod announced;
mod at_start;
mod clients;
mod joined_nodes;
mod listeners;
mod logs;
mod moving;
mod nodes;
mod redirects;
mod replies;
mod routing;
mod scripts;
mod shards;
