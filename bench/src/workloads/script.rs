//! Steps that run scripts, by digest or with full text.

use crate::error::Result;
use crate::load::{Arg, Expect, Step};

/// The way in which a script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// `EVALSHA`.
    Digest,
    /// `EVAL`.
    Text,
}

impl Call {
    /// Both ways, in the order of rows.
    pub(super) const BOTH: [Call; 2] = [Call::Digest, Call::Text];

    /// Returns the name of a workload that is called this way.
    pub(super) fn name(self, stem: &str) -> String {
        match self {
            Call::Digest => format!("{stem}:evalsha"),
            Call::Text => format!("{stem}:eval"),
        }
    }

    /// Appends the way of the call to the description of a workload.
    pub(super) fn about(self, about: &str) -> String {
        match self {
            Call::Digest => format!("{about}, by EVALSHA"),
            Call::Text => format!("{about}, by EVAL with full text"),
        }
    }

    /// Creates a request and its exact reply. Keys, arguments and the reply may contain placeholders.
    pub(super) fn step(self, script: &str, keys: &[&str], args: &[&str], reply: &str) -> Result<Step> {
        self.expecting(script, keys, args, Expect::exact(reply)?)
    }

    /// Creates a request and its right replies.
    pub(super) fn expecting(
        self,
        script: &str,
        keys: &[&str],
        args: &[&str],
        expect: Expect,
    ) -> Result<Step> {
        let digest = digest(script);
        let count = keys.len().to_string();
        let mut words = match self {
            Call::Digest => vec![Arg::Raw(b"EVALSHA"), Arg::Raw(digest.as_bytes())],
            Call::Text => vec![Arg::Raw(b"EVAL"), Arg::Raw(script.as_bytes())],
        };
        words.push(Arg::Raw(count.as_bytes()));
        words.extend(keys.iter().chain(args).map(|text| Arg::Text(text)));
        Step::new(&words, expect)
    }
}

/// Returns the digest of a script, which names it in the script cache.
pub(crate) fn digest(script: &str) -> String {
    sha1_smol::Sha1::from(script).digest().to_string()
}
