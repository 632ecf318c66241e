//! The requests of a known command that an older version refuses.

use super::args::Args;
use super::error::{CommandError, errors};
use super::syntax::Syntax;
use super::unknown::unknown_or_arity_before_7;
use super::version::Version;

/// The check for requests that a version refuses though no synopsis shows it: for a form of an argument.
pub type Refusing = fn(Args<'_>) -> Option<CommandError>;

/// The requests that a command took before a release.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// The release.
    pub since: &'static str,
    /// The synopsis before the release, if the notes of the present synopsis do not show it.
    pub syntax: Option<&'static str>,
    /// The check for further requests that were refused.
    pub refusing: Option<Refusing>,
}

/// The requests of a command that are newer than a version.
#[derive(Debug)]
pub(crate) struct Newer {
    version: Version,
    /// The synopsis of the newest version.
    newest: Syntax<'static>,
    own: Syntax<'static>,
    refusing: Option<Refusing>,
    /// The number of words in the command's name.
    name_len: usize,
}

impl Newer {
    /// The newer requests of a command with this synopsis; `None` if this version takes every request.
    ///
    /// # Panics
    /// Panics if a synopsis is malformed: a bug that a test finds.
    pub(super) fn of(
        version: Version,
        newest: &'static str,
        before: Option<Before>,
        name_len: usize,
    ) -> Option<Self> {
        // To parse all synopses for nothing would make up most of the allocations at start.
        if version >= Version::Newest {
            return None;
        }
        let before = before.filter(|before| !version.has(before.since));
        let syntax = before.and_then(|before| before.syntax);
        let refusing = before.and_then(|before| before.refusing);
        let parse = |synopsis| Syntax::parse(synopsis).expect("synopses are tested");
        let (newest, own) = (parse(newest), parse(syntax.unwrap_or(newest)));
        let takes_less = syntax.is_some() || refusing.is_some() || own.is_newer_than(version);
        takes_less.then_some(Newer { version, newest, own, refusing, name_len })
    }

    /// The error of the version for a request that only newer versions take. `None` for all others, valid or not.
    pub(crate) fn refusal(&self, args: Args<'_>) -> Option<CommandError> {
        let words = args.from(self.name_len);
        if self.newest.fits(Version::Newest, words) && !self.own.fits(self.version, words) {
            let is_subcommand = self.name_len > 1;
            return Some(match self.version {
                Version::V6_2 if is_subcommand => unknown_or_arity_before_7(args),
                _ => errors::SYNTAX,
            });
        }
        self.refusing.and_then(|refusal| refusal(args))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_newer_commands_are_refused() {
        let synopsis = "key [NOW@7.0.0] [value@7.2.0]";
        let refused = |version, request: &str| {
            let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
            let newer = Newer::of(version, synopsis, None, 1)?;
            newer.refusal(Args::new(&argv))
        };
        assert_eq!(refused(Version::V6_2, "c k NOW"), Some(errors::SYNTAX));
        assert_eq!(refused(Version::V6_2, "c k"), None);
        assert_eq!(refused(Version::V6_2, "c k a b c"), None, "a request that nobody takes is not newer");
        assert_eq!(refused(Version::V7_0, "c k now"), None);
        assert_eq!(refused(Version::V7_0, "c k now 5"), Some(errors::SYNTAX));
        assert!(Newer::of(Version::V7_2, synopsis, None, 1).is_none());
    }

    #[test]
    fn a_subcommand_was_unknown_with_other_arguments() {
        let before = Before { since: "7.0.0", syntax: Some("key"), refusing: None };
        let newer = Newer::of(Version::V6_2, "key [key ...]", Some(before), 2).expect("it takes less");
        let refusal = newer.refusal(Args::new(&[b"box", b"Open", b"a", b"b"])).expect("it is newer");
        let text = "ERR Unknown subcommand or wrong number of arguments for 'Open'. Try BOX HELP.";
        assert_eq!(refusal, CommandError::text(text));
    }

    #[test]
    fn forms_of_arguments_may_be_newer_too() {
        let refusing: Refusing = |args| args.is(1, "new").then_some(errors::SYNTAX);
        let before = Before { since: "7.0.0", syntax: None, refusing: Some(refusing) };
        assert!(Newer::of(Version::V7_0, "word", Some(before), 1).is_none());
        let newer = Newer::of(Version::V6_2, "word", Some(before), 1).expect("it refuses");
        let refusal = |word: &[u8]| newer.refusal(Args::new(&[b"c", word]));
        assert_eq!([refusal(b"new"), refusal(b"old")], [Some(errors::SYNTAX), None]);
    }
}
