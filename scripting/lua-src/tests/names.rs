//! The names that the linker sees.

use std::process::Command;

/// A program may have a Lua of its own: one name in common, and one would run into the other.
#[test]
fn no_name_is_one_that_another_lua_has() {
    let library = concat!(env!("OUT_DIR"), "/lib/liblockwheel_lua.a");
    let output = Command::new("nm").args(["-g", "-P", library]).output().expect("a C compiler comes with nm");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are ASCII");
    let names =
        text.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name.trim_start_matches('_'));
    let of_lua: Vec<&str> = names.filter(|name| name.contains("lua")).collect();
    assert!(of_lua.contains(&"lockwheel_lua_newstate"), "these are not the names of a Lua:\n{text}");
    let foreign: Vec<&&str> = of_lua.iter().filter(|name| !name.starts_with("lockwheel_")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}
