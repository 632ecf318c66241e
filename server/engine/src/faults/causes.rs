//! The requests that cause messages, as long as a rule may lose them.

use super::condition::{Script, Subject};
use super::group::Client;
use super::subject::channels_of;
use crate::clients::Request;
use crate::spec::{Args, Command, CommandId, CommandTable};

/// A request that runs, or a command that its script or transaction calls.
#[derive(Debug)]
pub(super) struct Cause {
    pub(super) command: CommandId,
    pub(super) request: Request,
    /// The digest and the text of its script.
    pub(super) script: Option<([u8; 40], Box<[u8]>)>,
    /// Whether rules do not see what it does.
    pub(super) is_exempt: bool,
}

/// The requests that run, from the one that a client has sent inwards.
#[derive(Debug, Default)]
pub(super) struct Causes(Vec<Cause>);

impl Causes {
    /// A cause begins to run within those that do.
    pub(super) fn push(&mut self, cause: Cause) {
        self.0.push(cause);
    }

    /// The innermost cause has ended.
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    /// Forgets all causes.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether rules do not see what the innermost cause does.
    pub(super) fn is_exempt(&self) -> bool {
        self.0.last().is_some_and(|cause| cause.is_exempt)
    }

    /// Calls `judge` with the causes as rules see them.
    pub(super) fn with_subjects<T>(
        &self,
        commands: &CommandTable,
        judge: impl FnOnce(&[Subject<'_>]) -> T,
    ) -> T {
        let argvs: Vec<Vec<&[u8]>> = self.0.iter().map(|cause| cause.request.argv()).collect();
        let outer = self.0.first().and_then(|cause| cause.script.as_ref());
        let subjects: Vec<Subject<'_>> = self
            .0
            .iter()
            .zip(&argvs)
            .map(|(cause, argv)| subject_of_cause(cause, commands.get(cause.command), Args::new(argv), outer))
            .collect();
        judge(&subjects)
    }
}

/// The cause of a message, whose client is not asked for. `outer` is the script that it comes from.
fn subject_of_cause<'a>(
    cause: &'a Cause,
    command: &'a Command,
    args: Args<'a>,
    outer: Option<&'a ([u8; 40], Box<[u8]>)>,
) -> Subject<'a> {
    let script = cause.script.as_ref().or(outer).map(|(sha, text)| Script { sha: *sha, text });
    let client = Client { id: 0, name: b"", library: b"", address: "" };
    let (keys, channels) = (command.keys_of(args).collect(), channels_of(command, args));
    Subject { command: &command.name, args, keys, channels, script, client }
}
