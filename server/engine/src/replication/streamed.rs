//! Requests in a master's stream that differ from those of clients.

use crate::spec::{Args, CommandTable, Flags};

/// Whether a request may come from a master. It changes data, or selects the database or the transaction of the next
/// ones. Requests that block or control the server are excluded.
pub(crate) fn is_streamed(commands: &CommandTable, args: Args<'_>) -> bool {
    const AROUND: &[&str] = &["select", "multi", "exec", "discard", "ping"];
    commands.resolve(args).is_some_and(|command| {
        let changes = command.spec.flags.intersects(Flags::of(&[Flags::WRITE, Flags::MAY_REPLICATE]));
        let steers = Flags::of(&[Flags::CONTROL, Flags::BLOCKING]);
        AROUND.contains(&&*command.name) || (changes && !command.spec.flags.intersects(steers))
    })
}

/// Returns a request in the form in which it runs here. A real master replaces the `~` of XADD and XTRIM by `=` with
/// the actual bound, but leaves a `LIMIT`, which clients may not send so. It is removed, and had no effect.
pub(crate) fn to_be_run<W: AsRef<[u8]>>(words: &[W]) -> Vec<&[u8]> {
    let mut argv: Vec<&[u8]> = words.iter().map(W::as_ref).collect();
    let is = |at: usize, name: &str| {
        words.get(at).is_some_and(|word| word.as_ref().eq_ignore_ascii_case(name.as_bytes()))
    };
    if !is(0, "xadd") && !is(0, "xtrim") {
        return argv;
    }
    let (mut at, mut is_exact) = (2, false);
    loop {
        if is(at, "nomkstream") {
            at += 1;
        } else if is(at, "maxlen") || is(at, "minid") {
            is_exact = is(at + 1, "=");
            at += if is_exact || is(at + 1, "~") { 3 } else { 2 };
        } else if is(at, "limit") && is_exact && at + 1 < argv.len() {
            argv.drain(at..at + 2);
            return argv;
        } else {
            return argv;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> String {
        let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let argv: Vec<&str> =
            to_be_run(&words).into_iter().map(|word| std::str::from_utf8(word).expect("text")).collect();
        argv.join(" ")
    }

    #[test]
    fn a_limit_of_exact_trimming_is_left_out() {
        assert_eq!(run("XADD k MINID = 2-0 LIMIT 1 3-0 f v"), "XADD k MINID = 2-0 3-0 f v");
        assert_eq!(
            run("xadd k nomkstream maxlen = 5 limit 0 3-0 f v"),
            "xadd k nomkstream maxlen = 5 3-0 f v"
        );
        assert_eq!(run("XTRIM k MAXLEN = 5 LIMIT 10"), "XTRIM k MAXLEN = 5");
    }

    #[test]
    fn other_requests_are_propagated_unchanged() {
        for line in [
            "XADD k 3-0 limit 1",
            "XADD k MAXLEN = 5 3-0 limit 1",
            "XADD k MAXLEN ~ 5 LIMIT 1 3-0 f v",
            "XTRIM k MAXLEN = 5 LIMIT",
            "XTRIM k",
            "SET limit 1",
        ] {
            assert_eq!(run(line), line);
        }
    }
}
