//! Several servers as clients know them: clusters, masters with replicas and sentinels, and independent servers. They
//! are our programs or real ones, each a process that a test can kill.

mod cluster;
mod log_lines;
mod process;
mod replicated;
mod watched;

pub use cluster::Cluster;
pub use log_lines::{assert_same_lines, masked_lines};
pub use process::{Make, Process, is_full, strangers, until};
pub use replicated::Replicated;
pub use watched::Watched;
