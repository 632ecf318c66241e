//! redis-memory-server, in Node: without the download of its own program, by `systemBinary` and by its environment
//! variable.

use crate::stand_in::{prints, sources};
use lockwheel_tests::workshop::{find_tool, npm_install};
use std::path::Path;
use std::process::Command;

#[test]
fn redis_memory_server_starts_our_server() {
    let Some(node) = find_tool("node", "apt-get install nodejs npm") else { return };
    let Some(npm) = find_tool("npm", "apt-get install npm") else { return };
    let make = |directory: &Path| npm_install(&npm, directory);
    let directory = sources().prepared("redis-memory-server", "node_modules", make);
    let expected = [
        "plain: +PONG",
        "where: 127.0.0.1 true true",
        "another beside it: +PONG true",
        "stopped: true false",
        "again: +PONG true",
        "guarded: -NOAUTH Authentication required. +OK +PONG *2",
    ];
    prints(&expected, |server| {
        let mut command = Command::new(&node);
        command.arg(directory.join("start.mjs")).arg(server).env_remove("REDISMS_SYSTEM_BINARY");
        command
    });
}
