//! Every dependency has a licence that `deny.toml` allows.

use std::process::Command;

/// The licences that `deny.toml` allows.
fn allowed() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../deny.toml");
    let text = std::fs::read_to_string(path).expect("the workspace has a deny.toml");
    let list = text.split("allow = [").nth(1).and_then(|rest| rest.split(']').next());
    let list = list.expect("deny.toml has a list of licences");
    list.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

/// Whether the allowed licences satisfy an SPDX expression. `/` is the old spelling of `OR`.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let met = any_of(&words, &mut at, allowed);
    assert_eq!(at, words.len(), "not an SPDX expression: {expression}");
    met
}

fn any_of(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut met = all_of(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all_of(words, at, allowed);
    }
    met
}

fn all_of(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut met = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, allowed);
    }
    met
}

fn one(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let word = words.get(*at).expect("an operator has something behind it");
    *at += 1;
    if *word == "(" {
        let met = any_of(words, at, allowed);
        assert_eq!(words.get(*at), Some(&")"), "a bracket is closed");
        *at += 1;
        return met;
    }
    if words.get(*at) == Some(&"WITH") {
        // An exception removes conditions.
        *at += 2;
    }
    allowed.iter().any(|licence| licence == word)
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = allowed();
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--edges", "all", "--offline", "--locked", "--prefix", "none"])
        .args(["--format", "{p} licence: {l}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let packages: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(" licence: ")).collect();
    assert!(
        packages.iter().any(|(name, _)| name.starts_with("tokio ")),
        "this is not the whole tree:\n{text}"
    );
    for (name, licence) in packages {
        let expression = licence.trim_end_matches(" (*)");
        assert!(is_met(expression, &allowed), "{name}: {expression} is not in deny.toml");
    }
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    let allowed = ["MIT", "Zlib", "Unicode-3.0"].map(str::to_string);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(GPL-3.0 OR MIT) AND Unicode-3.0", true),
        ("GPL-3.0 OR MIT AND Zlib", true),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", false),
        ("MIT WITH x", true),
    ] {
        assert_eq!(is_met(expression, &allowed), expected, "{expression}");
    }
}
