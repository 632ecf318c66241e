//! A request as rules see it.

use super::causes::Cause;
use crate::clients::Session;
use crate::faults::{Client, Script, Subject};
use crate::scripts::Scripts;
use crate::spec::{Args, Command};
use lockwheel_scripting::Sha;

/// What rules know of a client.
pub(super) fn client_of(session: &Session) -> Client<'_> {
    Client { id: session.id, name: &session.name, library: &session.lib_name, address: &session.peer.addr }
}

/// A request of this session, which has passed the checks. `None` when it names a script that is not cached: it will be
/// refused.
pub(super) fn subject_of<'a>(
    session: &'a Session,
    scripts: &'a Scripts,
    command: &'a Command,
    args: Args<'a>,
) -> Option<Subject<'a>> {
    Some(Subject {
        command: &command.name,
        args,
        keys: keys_of(command, args),
        channels: channels_of(command, args),
        script: script_of(scripts, command, args)?,
        client: client_of(session),
    })
}

/// The cause of a message, whose client is not asked for. `outer` is the script that it comes from.
pub(super) fn subject_of_cause<'a>(
    cause: &'a Cause,
    command: &'a Command,
    args: Args<'a>,
    outer: Option<&'a ([u8; 40], Box<[u8]>)>,
) -> Subject<'a> {
    let script = cause.script.as_ref().or(outer).map(|(sha, text)| Script { sha: *sha, text });
    let client = Client { id: 0, name: b"", library: b"", address: "" };
    let (keys, channels) = (keys_of(command, args), channels_of(command, args));
    Subject { command: &command.name, args, keys, channels, script, client }
}

pub(super) fn keys_of<'a>(command: &Command, args: Args<'a>) -> Vec<&'a [u8]> {
    command.key_positions(args).into_iter().filter_map(|position| args.get(position)).collect()
}

/// The channels that a request names.
fn channels_of<'a>(command: &Command, args: Args<'a>) -> Vec<&'a [u8]> {
    match &*command.name {
        "publish" | "spublish" => vec![args.from(1)[0]],
        "subscribe" | "psubscribe" | "ssubscribe" | "unsubscribe" | "punsubscribe" | "sunsubscribe" => {
            args.from(1).to_vec()
        }
        _ => Vec::new(),
    }
}

/// The script that a request runs, if it runs one; `None` when there is no such script.
#[expect(clippy::option_option, reason = "most requests run none, and some one that is not there")]
fn script_of<'a>(scripts: &'a Scripts, command: &Command, args: Args<'a>) -> Option<Option<Script<'a>>> {
    match &*command.name {
        "eval" | "eval_ro" => {
            let text = args.get(1)?;
            Some(Some(Script { sha: *Sha::of(text).as_bytes(), text }))
        }
        "evalsha" | "evalsha_ro" => {
            let runtime = scripts.runtime()?;
            let id = runtime.find(args.get(1)?)?;
            Some(Some(Script { sha: *runtime.sha(id)?.as_bytes(), text: runtime.text(id)? }))
        }
        _ => Some(None),
    }
}
