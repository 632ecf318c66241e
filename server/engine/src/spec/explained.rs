//! Syntax errors of the commands that Redis does not have: they name the wrong word, and what was expected.

use super::args::Args;
use super::error::CommandError;
use super::row::Spec;
use super::syntax::Syntax;

/// The families whose errors are our own. CL.THROTTLE keeps those of redis-cell.
const FAMILIES: [&str; 8] = ["await", "clock", "control", "fault", "latch", "lock", "rate", "sem"];

/// The syntax error of a request, explained; `None` for commands that answer as another server does.
pub(crate) fn explained(spec: &Spec, args: Args<'_>) -> Option<CommandError> {
    let (family, _) = spec.name.split_once('.')?;
    if !FAMILIES.contains(&family) {
        return None;
    }
    let syntax = Syntax::parse(spec.syntax).ok()?;
    Some(CommandError::new([b"ERR syntax error: ", &*syntax.explain(args.from(1))].concat()))
}
