//! The `lockwheel` binary.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> Result<(), lockwheel::StartError> {
    let server = lockwheel::Server::builder().signals(true).start()?;
    server.wait();
    Ok(())
}
