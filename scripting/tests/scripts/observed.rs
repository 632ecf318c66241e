//! Tests of scripts whose replies were recorded on real servers.

use crate::mock::{Bench, on_engine_stack};

#[test]
fn scripts_answer_as_on_redis() {
    compare(include_str!("observed.txt"), 600);
}

#[test]
fn cjson_is_that_of_redis() {
    compare(include_str!("observed_cjson.txt"), 130);
}

#[test]
fn cmsgpack_and_bit_are_those_of_redis() {
    compare(include_str!("observed_bytes.txt"), 90);
}

/// Runs scripts in turn in one interpreter. There must be at least `least` scripts.
fn compare(observed: &'static str, least: usize) {
    on_engine_stack(move || {
        let mut bench = Bench::default();
        let mut script = "";
        let (mut count, mut wrong) = (0, Vec::new());
        for line in observed.lines() {
            if let Some(text) = line.strip_prefix("> ") {
                script = text;
            } else if let Some(expected) = line.strip_prefix("< ") {
                let (arguments, text) =
                    script.split_once(" | ").filter(|(first, _)| first.len() < 20).unwrap_or((" ", script));
                let (keys, args) = arguments.split_once(' ').unwrap();
                let list = |text: &'static str| {
                    text.split(',').filter(|part| !part.is_empty()).map(str::as_bytes).collect::<Vec<_>>()
                };
                let reply = bench.eval_with(text, &list(keys), &list(args));
                count += 1;
                if reply != expected {
                    wrong.push(format!("{text}\n  is    {reply}\n  must  {expected}"));
                }
            }
        }
        assert!(count >= least, "{count} scripts");
        assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    });
}
