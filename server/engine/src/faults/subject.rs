//! The view of a request that rules have.

use super::condition::{Script, Subject};
use super::group::Client;
use crate::clients::Session;
use crate::scripts::Scripts;
use crate::spec::{Args, Command};
use lockwheel_scripting::Sha;

impl<'a> Client<'a> {
    /// Returns the properties of a session's client that rules can match.
    pub(super) fn of(session: &'a Session) -> Self {
        Client {
            id: session.id,
            name: &session.name,
            library: &session.lib_name,
            address: &session.peer.addr,
        }
    }
}

/// Returns a checked request of this session for rules; `None` if its script is not cached: it will be refused.
pub(super) fn subject_of<'a>(
    session: &'a Session,
    scripts: &'a Scripts,
    command: &'a Command,
    args: Args<'a>,
) -> Option<Subject<'a>> {
    Some(Subject {
        command: &command.name,
        args,
        keys: command.keys_of(args).collect(),
        channels: channels_of(command, args),
        script: script_of(scripts, command, args)?,
        client: Client::of(session),
    })
}

/// Returns the channels that a request names.
pub(super) fn channels_of<'a>(command: &Command, args: Args<'a>) -> Vec<&'a [u8]> {
    match &*command.name {
        "publish" | "spublish" => vec![args.from(1)[0]],
        "subscribe" | "psubscribe" | "ssubscribe" | "unsubscribe" | "punsubscribe" | "sunsubscribe" => {
            args.from(1).to_vec()
        }
        _ => Vec::new(),
    }
}

/// Returns the script that a request runs, or `Some(None)` if it runs none. `None`: the script is not cached.
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
