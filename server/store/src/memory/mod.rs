//! The memory of an engine, counted by its parts. Each part counts when a buffer, a table or a page grows or shrinks,
//! without asking the allocator. If a process has several engines, each knows its own memory.

mod account;
mod block;
mod buffers;
mod shared;
mod shrink;

pub use account::{MemoryAccount, MemoryUsage};
pub use block::{block, map_heap_bytes, set_heap_bytes, tree_heap_bytes, vec_heap_bytes};
pub use buffers::{BufferBytes, ClientBytes, HeldBytes};
pub use shared::{SharedBytes, WeakBytes};
pub use shrink::{shrink_deque, shrink_table};
