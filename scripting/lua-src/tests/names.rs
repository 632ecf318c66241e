//! The names that the linker sees.

use std::process::Command;

/// All names that the library shares with others.
fn shared_names() -> Vec<String> {
    let library = concat!(env!("OUT_DIR"), "/lib/liblockwheel_lua.a");
    let output = Command::new("nm").args(["-g", "-P", library]).output().expect("a C compiler comes with nm");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are ASCII");
    text.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name.to_owned()).collect()
}

/// A program may have a Lua of its own: one name in common, and one would run into the other.
#[test]
fn no_name_is_one_that_another_lua_has() {
    let names = shared_names();
    // The sanitizer has a name of its own for each variable.
    let plain = |name: &str| name.trim_start_matches('_').trim_start_matches("odr_asan.").to_owned();
    let of_lua: Vec<String> =
        names.iter().map(|name| plain(name)).filter(|name| name.contains("lua")).collect();
    assert!(of_lua.iter().any(|name| name == "lockwheel_lua_newstate"), "these are not the names of a Lua");
    let foreign: Vec<&String> = of_lua.iter().filter(|name| !name.starts_with("lockwheel_")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[test]
fn the_sanitizer_is_there_if_it_was_asked_for() {
    let has_checks = shared_names().iter().any(|name| name.starts_with("__asan_report_"));
    assert_eq!(has_checks, lockwheel_lua_sys::IS_SANITIZED);
}
