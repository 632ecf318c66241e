//! Command lines that measure a lock script on Lockwheel with `redis-benchmark`, for users who trust only that program.

use crate::LOCK;
use std::fmt::Write;

/// Returns shell commands. They start the server, load the script, and run it by digest and by full text, with these
/// numbers of requests in a batch.
pub fn by_hand(pipelines: &[usize]) -> String {
    let mut text = String::from("With redis-benchmark instead of this program:\n");
    let run = "redis-benchmark -p 6400 -c 50 -n 2000000 -r 100000";
    let rest = "1 lock:__rand_int__ 30000 8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    // The script contains single quotes, and nothing that a shell replaces within double quotes. Writing to a string
    // does not fail.
    let _infallible = writeln!(
        text,
        "  lockwheel --port 6400 --threads 1 &\n  SCRIPT=\"{LOCK}\"\n  \
         SHA=$(redis-cli -p 6400 SCRIPT LOAD \"$SCRIPT\")"
    );
    for pipeline in pipelines {
        let _infallible = writeln!(text, "  {run} -P {pipeline} EVALSHA \"$SHA\" {rest}");
    }
    if let Some(pipeline) = pipelines.last() {
        let _infallible = writeln!(text, "  {run} -P {pipeline} EVAL \"$SCRIPT\" {rest}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_the_script_as_it_is() {
        assert!(!LOCK.contains(['"', '$', '`', '\\', '!']), "{LOCK}");
        let text = by_hand(&[1, 16]);
        assert!(
            text.contains("-P 1 EVALSHA") && text.contains("-P 16 EVALSHA") && text.contains("-P 16 EVAL ")
        );
    }
}
