//! Several servers as clients know them: clusters, and masters with replicas and sentinels. Of our programs or of
//! real ones, each a process that a test can kill.

mod cluster;
mod process;
mod watched;

pub use cluster::Cluster;
pub use process::{Make, Process, is_full, until};
pub use watched::Watched;
