//! The schema of our own commands and of the program's options, and what the packages generate from it.

use lockwheel_engine::spec::Command as Row;
use lockwheel_tests::pages::file;
use lockwheel_tests::redis_server::{find_in_path, skip};
use lockwheel_tests::reference;
use serde_json::{Value, json};
use std::process::Command;
use std::{env, fs};

/// The program's table of options, which the program does not export.
#[path = "../../../../server/program/src/options.rs"]
#[expect(dead_code, reason = "the examples of the help are not part of the schema")]
mod options;

/// The file of the schema, from the root of the repository.
const SCHEMA: &str = "packaging/schema/commands.json";

/// The program that writes the packages' interfaces.
const GENERATE: &str = "packaging/schema/generate";

const GENERATED: &str = "Generated from the table of commands. RENEW_COMMANDS=1 cargo test --workspace --test house \
                         readme renews this file.";

/// The text of the schema.
fn schema() -> String {
    let commands: Vec<Value> = reference::commands().iter().map(|command| row(command)).collect();
    let options: Vec<Value> = options::OPTIONS.iter().map(option).collect();
    let schema = json!({ "about": GENERATED, "commands": commands, "options": options });
    let text = serde_json::to_string_pretty(&schema).expect("texts are valid JSON");
    format!("{text}\n")
}

/// The row of a command. The synopsis has its notes, such as the ranges of integers.
fn row(command: &Row) -> Value {
    let row = command.spec;
    let meaning = |(argument, meaning): &(&str, &str)| json!({ "argument": argument, "meaning": meaning });
    let arguments: Vec<Value> = row.options.iter().copied().flatten().map(meaning).collect();
    json!({
        "name": command.name,
        "synopsis": row.syntax,
        "summary": row.summary,
        "arguments": arguments,
        "reply": row.reply,
    })
}

fn option(option: &options::ServerOption) -> Value {
    json!({ "name": option.name, "value": option.value, "words": option.words, "meaning": option.help })
}

/// Runs the generator. Returns the output of a run that fails, and `None` if Python is not installed.
fn generate(arguments: &[&str]) -> Option<Result<(), String>> {
    let Some(python) = find_in_path("python3") else {
        skip(&["python3"], "python3 is not installed (apt-get install python3)");
        return None;
    };
    let output = Command::new(python).arg(file(GENERATE)).args(arguments).output().expect("python3 starts");
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some(if output.status.success() { Ok(()) } else { Err(said) })
}

/// With `RENEW_COMMANDS=1`, the test writes the expected schema, and what the packages generate from it. The generator
/// fails if a row or a token of a synopsis has no method.
#[test]
fn the_interfaces_of_the_packages_are_those_of_the_rows() {
    let wanted = schema();
    let path = file(SCHEMA);
    if env::var_os("RENEW_COMMANDS").is_some() {
        fs::write(path, wanted).unwrap();
        assert_eq!(generate(&[]).unwrap_or(Ok(())), Ok(()));
        return;
    }
    let schema = fs::read_to_string(path).expect("the repository has the schema");
    let differs = schema.lines().zip(wanted.lines()).find(|(there, wanted)| there != wanted);
    assert!(schema == wanted, "{SCHEMA} is not what the rows say; RENEW_COMMANDS=1 writes it. {differs:?}");
    assert_eq!(generate(&["--check"]).unwrap_or(Ok(())), Ok(()));
}
