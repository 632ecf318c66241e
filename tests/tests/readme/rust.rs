//! The example in Rust, in a crate of its own.

use crate::Scratch;
use lockwheel_tests::readme;
use std::path::Path;
use std::process::Command;

/// Outside the workspace: neither its lock file nor a patch nor a setting of its `.cargo` reaches there. The versions
/// are the workspace's, which cargo has at hand: nothing is fetched.
#[test]
fn the_example_runs_in_a_crate_outside_the_workspace() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let scratch = Scratch::new("outside");
    let manifest = format!(
        "[package]\nname = \"outside\"\nedition = \"2024\"\n\n[dependencies]\n\
         lockwheel = {{ path = {:?}, default-features = false }}\n",
        workspace.join("server")
    );
    scratch.write("Cargo.toml", &manifest);
    scratch.write("src/main.rs", &readme::block("rust").text);
    std::fs::copy(workspace.join("Cargo.lock"), scratch.path("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline"])
        .current_dir(scratch.path(""))
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside"))
        .env_remove("JEMALLOC_SYS_WITH_MALLOC_CONF")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("redis://127.0.0.1:"), "{said}");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none"])
        .current_dir(scratch.path(""))
        .output()
        .unwrap();
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(tree.contains("lockwheel-engine"), "{tree}{}", String::from_utf8_lossy(&output.stderr));
    for of_the_program in ["tikv-jemallocator", "tracing-subscriber"] {
        assert!(!tree.contains(of_the_program), "a server in a test has {of_the_program}:\n{tree}");
    }
}
