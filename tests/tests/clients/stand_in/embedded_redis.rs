//! embedded-redis, in Java: the maintained one, and the older one of many projects.
//!
//! The original one, com.github.kstyrc, waits for `The server is now ready to accept connections on port`, which no
//! redis-server since 4.0 prints.

use crate::stand_in::{prints, sources};
use lockwheel_tests::workshop::{find_tool, java, maven_classpath};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command of a class of the folder, with the pom's dependencies except `without`: both have the same package.
fn class(name: &str, without: &str) -> Option<impl Fn(&Path) -> Command + use<>> {
    let program = find_tool("java", "apt-get install default-jdk-headless maven")?;
    let maven = find_tool("mvn", "apt-get install maven")?;
    let make = |directory: &Path| maven_classpath(&maven, directory);
    let directory: PathBuf = sources().prepared("embedded-redis", "classpath", make);
    let all = fs::read_to_string(directory.join("classpath")).expect("Maven wrote it");
    let path: Vec<&str> = all.trim_end().split(':').filter(|jar| !jar.contains(without)).collect();
    assert!(path.len() < all.split(':').count(), "{without} is in {all}");
    let (path, source) = (path.join(":"), directory.join(format!("{name}.java")));
    Some(move |server: &Path| {
        let mut command = java(&program);
        command.args(["-Dfile.encoding=UTF-8", "-cp", &path]).arg(&source).arg(server);
        command
    })
}

#[test]
fn embedded_redis_of_ozimov_starts_our_server() {
    let Some(command) = class("Maintained", "/ozimov/") else { return };
    let guarded = "NOAUTH Authentication required. then PONG with [maxmemory, 67108864]";
    let expected = [
        "plain: PONG, active true",
        "the port is taken: Failed to start Redis service",
        "stopped: active false",
        &format!("guarded: {guarded}"),
        "it said so: true",
        &format!("again: {guarded}"),
    ];
    prints(&expected, command);
}

#[test]
fn embedded_redis_of_codemonstur_starts_our_server() {
    let Some(command) = class("Classic", "/codemonstur/") else { return };
    let expected = [
        "plain: PONG, active true",
        "stopped: active false",
        "guarded: PONG with [maxmemory, 51200000]",
        "stopped: active false",
    ];
    prints(&expected, command);
}
