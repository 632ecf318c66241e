//! What an older version refuses of the requests of a command that it has.

use super::args::Args;
use super::error::{CommandError, errors};
use super::syntax::Syntax;
use super::unknown::unknown_or_arity_before_7;
use super::version::Version;

/// What a version refuses that no synopsis shows: a form of an argument.
pub type Refusing = fn(Args<'_>) -> Option<CommandError>;

/// What a command took before a release.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// The release.
    pub since: &'static str,
    /// The synopsis, where the notes of the command's own do not say it.
    pub syntax: Option<&'static str>,
    /// What was refused besides.
    pub refusing: Option<Refusing>,
}

/// The requests of a command that are newer than a version.
#[derive(Debug)]
pub(crate) struct Newer {
    version: Version,
    /// What the newest version takes.
    newest: Syntax<'static>,
    /// What this one does.
    own: Syntax<'static>,
    refusing: Option<Refusing>,
    /// How many words its name has.
    name_len: usize,
}

impl Newer {
    /// For a command with this synopsis; `None` when this version takes all that the newest takes.
    ///
    /// # Panics
    /// When a synopsis is malformed: a bug that a test finds.
    pub(super) fn of(
        version: Version,
        newest: &'static str,
        before: Option<Before>,
        name_len: usize,
    ) -> Option<Self> {
        // It has everything: to read the synopses of all commands would make up most of what a start allocates.
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

    /// What the version answers to a request that only newer ones take; `None` for all others, whether they are right
    /// or not.
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
    fn what_is_newer_is_refused_and_nothing_else() {
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
