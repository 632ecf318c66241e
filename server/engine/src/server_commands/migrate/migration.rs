//! What a request to MIGRATE asks for.

use super::errors::SEPARATE_KEYS;
use crate::spec::{Args, CommandError, atoi, errors};
use std::time::Duration;

/// Where the keys are in a request that names one of them in front, and where its options begin.
pub(super) const KEY: usize = 3;
pub(super) const OPTIONS: usize = 6;

/// The words that are options, and how many arguments each has.
const WORDS: &[(&str, usize)] = &[("copy", 0), ("replace", 0), ("auth", 1), ("auth2", 2)];

/// How many arguments the option has that stands there; `None`: there is none.
pub(super) fn arguments_of(args: Args<'_>, at: usize) -> Option<usize> {
    WORDS.iter().find(|(word, _)| args.is(at, word)).map(|(_, count)| *count)
}

/// A request, parsed.
#[derive(Debug)]
pub(super) struct Migration<'a> {
    pub(super) host: &'a [u8],
    /// None when no port can have this number.
    pub(super) port: Option<u16>,
    /// The keys' database at the target.
    pub(super) db: i64,
    /// The limit of each wait for the target.
    pub(super) timeout: Duration,
    /// The keys stay here.
    pub(super) copy: bool,
    /// Keys of these names at the target are replaced.
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

    /// Takes an option, whose arguments are there.
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
