//! MEMORY DOCTOR: a report on excessive memory use, in Redis' words.

use super::memory_figures::MemoryFigures;
use crate::core::MemoryView;

/// The memory in bytes below which there is no diagnosis.
const LITTLE: u64 = 5 << 20;
/// The maximum reasonable memory per client, in bytes on average.
const MAX_CLIENT_BYTES: u64 = 200 << 10;
/// The maximum reasonable unread output per replica, in bytes on average.
const MAX_REPLICA_BYTES: u64 = 10 << 20;
/// The maximum reasonable number of cached scripts.
const MAX_SCRIPTS: usize = 1000;

const EMPTY: &str = "Hi Sam, this instance is empty or is using very little memory, my issues detector can't be used \
     in these conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam and I will \
     be back to our programming as soon as I finished rebooting.";
const FINE: &str = "Hi Sam, I can't find any memory issue in your instance. I can only account for what occurs on \
     this base.";
const GREETING: &str = "Sam, I detected a few issues in this Redis instance memory implants:";
const CLOSING: &str = "I'm here to keep you safe, Sam. I want to help you.";
const PEAK: &str = " * Peak memory: In the past this instance used more than 150% the memory that is currently \
     using. The allocator is normally not able to release memory after a peak, so you can expect to see a big \
     fragmentation ratio, however this is actually harmless and is only due to the memory peak, and if the Redis \
     instance Resident Set Size (RSS) is currently bigger than expected, the memory will be used as soon as you fill \
     the Redis instance with more data. If the memory peak was only occasional and you want to try to reclaim \
     memory, please try the MEMORY PURGE command, otherwise the only other option is to shutdown and restart the \
     instance.";
/// The name of the allocator stands between the two parts.
const FRAGMENTATION: [&str; 2] = [
    " * High total RSS: This instance has a memory fragmentation and RSS overhead greater than 1.4 (this means that \
     the Resident Set Size of the Redis process is much larger than the sum of the logical allocations Redis \
     performed). This problem is usually due either to a large peak memory (check if there is a peak memory entry \
     above in the report) or may result from a workload that causes the allocator to fragment memory a lot. If the \
     problem is a large peak memory, then there is no issue. Otherwise, make sure you are using the Jemalloc \
     allocator and not the default libc malloc. Note: The currently used allocator is \"",
    "\".",
];
const ALLOCATOR_FRAGMENTATION: &str = " * High allocator fragmentation: This instance has an allocator external \
     fragmentation greater than 1.1. This problem is usually due either to a large peak memory (check if there is a \
     peak memory entry above in the report) or may result from a workload that causes the allocator to fragment \
     memory a lot. You can try enabling 'activedefrag' config option.";
const ALLOCATOR_RSS: &str = " * High allocator RSS overhead: This instance has an RSS memory overhead is greater \
     than 1.1 (this means that the Resident Set Size of the allocator is much larger than the sum what the allocator \
     actually holds). This problem is usually due to a large peak memory (check if there is a peak memory entry \
     above in the report), you can try the MEMORY PURGE command to reclaim it.";
const PROCESS_RSS: &str = " * High process RSS overhead: This instance has non-allocator RSS memory overhead is \
     greater than 1.1 (this means that the Resident Set Size of the Redis process is much larger than the RSS the \
     allocator holds). This problem may be due to Lua scripts or Modules.";
const REPLICA_BUFFERS: &str = " * Big replica buffers: The replica output buffers in this instance are greater than \
     10MB for each replica (on average). This likely means that there is some replica instance that is struggling \
     receiving data, either because it is too slow or because of networking issues. As a result, data piles on the \
     master output buffers. Please try to identify what replica is not receiving data correctly and why. You can use \
     the INFO output in order to check the replicas delays and the CLIENT LIST command to check the output buffers of \
     each replica.";
const CLIENT_BUFFERS: &str = " * Big client buffers: The clients output buffers in this instance are greater than \
     200K per client (on average). This may result from different causes, like Pub/Sub clients subscribed to \
     channels bot not receiving data fast enough, so that data piles on the Redis instance output buffer, or clients \
     sending commands with large replies or very large sequences of commands in the same pipeline. Please use the \
     CLIENT LIST command in order to investigate the issue if it causes problems in your instance, or to understand \
     better why certain clients are using a big amount of memory.";
const SCRIPTS: &str = " * Many scripts: There seem to be many cached scripts in this instance (more than 1000). This \
     may be because scripts are generated and `EVAL`ed, instead of being parameterized (with KEYS and ARGV), `SCRIPT \
     LOAD`ed and `EVALSHA`ed. Unless `SCRIPT FLUSH` is called periodically, the scripts' caches may end up consuming \
     most of your memory.";

pub(super) fn report(view: &MemoryView<'_>) -> String {
    let figures = MemoryFigures::of(view);
    if figures.total < LITTLE {
        return format!("{EMPTY}\n");
    }
    let issues = issues(view, &figures);
    if issues.is_empty() {
        return format!("{FINE}\n");
    }
    let issues: String = issues.into_iter().map(|issue| format!("{issue}\n\n")).collect();
    format!("{GREETING}\n\n{issues}{CLOSING}\n")
}

fn issues(view: &MemoryView<'_>, figures: &MemoryFigures) -> Vec<String> {
    let MemoryView { parts, process, .. } = view;
    let allocator = process.allocator.as_ref().map_or("libc", |allocator| &allocator.name);
    let replicas = parts.replication.replicas().len() as u64;
    let clients = (parts.sessions.live().count() as u64).saturating_sub(replicas).max(1);
    let scripts = parts.scripts.runtime().map_or(0, |runtime| runtime.len());
    let fragmentation = FRAGMENTATION.join(allocator);
    let found = [
        (figures.peak as f64 / figures.total as f64 > 1.5, PEAK),
        (figures.fragmentation().is_over(1.4), &fragmentation),
        (figures.allocator_fragmentation().is_over(1.1), ALLOCATOR_FRAGMENTATION),
        (figures.allocator_rss().is_over(1.1), ALLOCATOR_RSS),
        (figures.rss_overhead().is_over(1.1), PROCESS_RSS),
        (figures.replicas / replicas.max(1) > MAX_REPLICA_BYTES, REPLICA_BUFFERS),
        (figures.normal_clients() / clients > MAX_CLIENT_BYTES, CLIENT_BUFFERS),
        (scripts > MAX_SCRIPTS, SCRIPTS),
    ];
    found.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text.to_owned()).collect()
}
