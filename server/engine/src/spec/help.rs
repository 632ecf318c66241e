//! The answer to HELP, in Redis' frame.

use lockwheel_resp::Reply;

/// Writes what a container's HELP answers: a heading, its own lines, and HELP itself.
pub(crate) fn write(container: &str, lines: &[&str], reply: &mut dyn Reply) {
    let heading = format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    reply.array(lines.len() + 3);
    reply.status(heading.as_bytes());
    lines.iter().for_each(|line| reply.status(line.as_bytes()));
    reply.status(b"HELP");
    reply.status(b"    Print this help.");
}

/// Writes what the HELP of a dotted family answers.
pub(crate) fn write_family(family: &str, lines: &[&str], reply: &mut dyn Reply) {
    let own = format!("{family}.HELP");
    reply.array(lines.len() + 3);
    reply.status(format!("{family}.<verb> [<arg> [value] [opt] ...]. Commands are:").as_bytes());
    lines.iter().for_each(|line| reply.status(line.as_bytes()));
    reply.status(own.as_bytes());
    reply.status(b"    Print this help.");
}
