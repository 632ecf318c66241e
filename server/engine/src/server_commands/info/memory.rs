//! INFO's memory figures.

use super::lines::{Lines, human, parameter};
use crate::config::Config;
use crate::locks;
use crate::scripts::Scripts;
use crate::server_commands::memory_figures::MemoryFigures;
use crate::statistics::Process;
use lockwheel_store::keyspace::Keyspace;

/// Writes the current and peak memory of the server and its process. `pending_append`: bytes for the append-only file.
pub(super) fn memory(
    (figures, pending_append): (&MemoryFigures, usize),
    (config, process): (&Config, &Process),
    (keyspace, scripts): (&Keyspace, &Scripts),
    lines: &mut Lines,
) {
    let allocator = figures.allocator;
    lines.bytes("used_memory", figures.total);
    lines.bytes("used_memory_rss", figures.process.resident);
    own_memory(figures, lines);
    lines.field("allocator_allocated", allocator.allocated);
    lines.field("allocator_active", allocator.active);
    lines.field("allocator_resident", allocator.resident);
    lines.bytes("total_system_memory", figures.process.machine);
    script_memory(scripts, lines);
    lines.bytes("maxmemory", config.maxmemory);
    lines.field("maxmemory_policy", parameter(config, "maxmemory-policy"));
    lines.overhead("allocator_frag", figures.allocator_fragmentation());
    lines.overhead("allocator_rss", figures.allocator_rss());
    lines.overhead("rss_overhead", figures.rss_overhead());
    lines.overhead("mem_fragmentation", figures.fragmentation());
    lines.field("mem_not_counted_for_evict", figures.replicas);
    lines.field("mem_replication_backlog", figures.backlog);
    lines.field("mem_total_replication_buffers", figures.backlog + figures.replicas);
    lines.field("mem_clients_slaves", figures.replicas);
    lines.field("mem_clients_normal", figures.normal_clients());
    lines.zeros(&["mem_cluster_links"]);
    lines.field("mem_aof_buffer", pending_append);
    lines.field("mem_locks_past", locks::past_bytes(keyspace));
    lines.field("mem_locks_fences", locks::fence_bytes(keyspace));
    lines.field("mem_allocator", process.allocator.as_ref().map_or("libc", |allocator| &allocator.name));
    lines.zeros(&["active_defrag_running"]);
    let lazy_free = &keyspace.counters.lazy_free;
    lines.field("lazyfree_pending_objects", lazy_free.pending());
    lines.field("lazyfreed_objects", lazy_free.freed());
}

/// Writes the memory of scripts and functions. While one runs, the figures are unknown.
fn script_memory(scripts: &Scripts, lines: &mut Lines) {
    let Some(runtime) = scripts.runtime() else { return };
    let libraries = scripts.libraries();
    let (eval, functions) = (runtime.memory_used(), runtime.functions_memory_used());
    let (cached, code) = (runtime.cached_bytes(), libraries.bytes());
    lines.field("used_memory_lua", eval);
    lines.field("used_memory_vm_eval", eval);
    lines.field("used_memory_lua_human", human(eval as u64));
    lines.field("used_memory_scripts_eval", cached);
    lines.field("number_of_cached_scripts", runtime.len());
    lines.field("number_of_functions", libraries.function_count());
    lines.field("number_of_libraries", libraries.len());
    lines.field("used_memory_vm_functions", functions);
    lines.bytes("used_memory_vm_total", (eval + functions) as u64);
    lines.field("used_memory_functions", code);
    lines.bytes("used_memory_scripts", (cached + code) as u64);
}

/// Writes the engine's own account of its memory. Several engines of a process each show their own.
fn own_memory(figures: &MemoryFigures, lines: &mut Lines) {
    lines.bytes("used_memory_peak", figures.peak);
    lines.field("used_memory_peak_perc", format_args!("{:.2}%", figures.peak_percent()));
    lines.field("used_memory_overhead", figures.overhead);
    lines.field("used_memory_startup", figures.startup);
    lines.field("used_memory_dataset", figures.dataset());
    lines.field("used_memory_dataset_perc", format_args!("{:.2}%", figures.dataset_percent()));
}
