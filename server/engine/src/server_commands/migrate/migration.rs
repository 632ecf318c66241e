//! The parsed request of MIGRATE.

use super::errors::SEPARATE_KEYS;
use crate::spec::{Args, CommandError, atoi, errors};
use std::time::Duration;

/// The position of the key in a request that names a single one, and of the first option.
pub(super) const KEY: usize = 3;
pub(super) const OPTIONS: usize = 6;

/// The option words, each with its number of arguments.
const WORDS: &[(&str, usize)] = &[("copy", 0), ("replace", 0), ("auth", 1), ("auth2", 2)];

/// Returns the number of arguments of the option at a position; `None` if there is no option.
pub(super) fn arguments_of(args: Args<'_>, at: usize) -> Option<usize> {
    WORDS.iter().find(|(word, _)| args.is(at, word)).map(|(_, count)| *count)
}

/// A parsed request.
#[derive(Debug)]
pub(super) struct Migration<'a> {
    pub(super) host: &'a [u8],
    /// The port. `None`: the number is not a valid port.
    pub(super) port: Option<u16>,
    /// The database of the keys at the target.
    pub(super) db: i64,
    /// The time limit of each wait for the target.
    pub(super) timeout: Duration,
    /// Whether the keys also stay here.
    pub(super) copy: bool,
    /// Whether existing keys at the target are replaced.
    pub(super) replace: bool,
    pub(super) user: Option<&'a [u8]>,
    pub(super) password: Option<&'a [u8]>,
    pub(super) keys: &'a [&'a [u8]],
}

impl<'a> Migration<'a> {
    pub(super) fn parse(args: Args<'a>) -> Result<Self, CommandError> {
        let argv = args.all();
        let mut request = Migration {
            host: argv[1],
            port: u16::try_from(atoi(argv[2])).ok(),
            db: 0,
            timeout: Duration::ZERO,
            copy: false,
            replace: false,
            user: None,
            password: None,
            keys: &argv[KEY..=KEY],
        };
        let mut at = OPTIONS;
        while at < args.len() {
            if args.is(at, "keys") {
                if !argv[KEY].is_empty() {
                    return Err(CommandError::text(SEPARATE_KEYS));
                }
                request.keys = args.from(at + 1);
                break;
            }
            let count = arguments_of(args, at).filter(|count| at + count < args.len());
            let count = count.ok_or(errors::SYNTAX)?;
            request.set(args, at);
            at += 1 + count;
        }
        const DEFAULT_MS: u64 = 1000;
        let timeout_ms = u64::try_from(args.int(5)?).ok().filter(|ms| *ms > 0).unwrap_or(DEFAULT_MS);
        request.timeout = Duration::from_millis(timeout_ms);
        request.db = args.int(4)?;
        Ok(request)
    }

    /// Sets an option, whose arguments are present.
    fn set(&mut self, args: Args<'a>, at: usize) {
        let argv = args.all();
        if args.is(at, "copy") {
            self.copy = true;
        } else if args.is(at, "replace") {
            self.replace = true;
        } else if args.is(at, "auth") {
            self.password = Some(argv[at + 1]);
        } else {
            (self.user, self.password) = (Some(argv[at + 1]), Some(argv[at + 2]));
        }
    }
}
