//! The running requests that cause messages. They are recorded only while a rule may lose messages.

use super::condition::{Script, Subject};
use super::group::Client;
use super::subject::channels_of;
use crate::clients::Request;
use crate::spec::{Args, Command, CommandId, CommandTable};

/// A running request, or a command that its script or transaction calls.
#[derive(Debug)]
pub(super) struct Cause {
    pub(super) command: CommandId,
    pub(super) request: Request,
    /// The digest and the text of the script that the request runs.
    pub(super) script: Option<([u8; 40], Box<[u8]>)>,
    /// Whether rules ignore the effects of this cause.
    pub(super) is_exempt: bool,
}

/// The stack of running requests: the first is the client's, each later one is called by the one before.
#[derive(Debug, Default)]
pub(super) struct Causes(Vec<Cause>);

impl Causes {
    /// Pushes a cause that begins to run within the current ones.
    pub(super) fn push(&mut self, cause: Cause) {
        self.0.push(cause);
    }

    /// Removes the innermost cause, which has ended.
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether rules ignore the effects of the innermost cause.
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

/// Returns the cause of a message as rules see it, without a client. `outer` is the script that has called it.
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
