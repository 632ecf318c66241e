//! Scripts as steps: by their digest or with their full text.

use crate::error::Result;
use crate::load::{Arg, Expect, Step};

/// How a script is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// `EVALSHA`.
    Digest,
    /// `EVAL`.
    Text,
}

impl Call {
    /// Both, in the order of rows.
    pub(super) const BOTH: [Call; 2] = [Call::Digest, Call::Text];

    /// The name of a workload called this way.
    pub(super) fn name(self, stem: &str) -> String {
        match self {
            Call::Digest => format!("{stem}:evalsha"),
            Call::Text => format!("{stem}:eval"),
        }
    }

    /// What follows a workload's description.
    pub(super) fn about(self, about: &str) -> String {
        match self {
            Call::Digest => format!("{about}, by EVALSHA"),
            Call::Text => format!("{about}, by EVAL with full text"),
        }
    }

    /// A request; keys and arguments may hold placeholders, in the reply too.
    pub(super) fn step(self, script: &str, keys: &[&str], args: &[&str], reply: &str) -> Result<Step> {
        self.expecting(script, keys, args, Expect::exact(reply)?)
    }

    /// A request, and what may come.
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

/// The name of a script in the cache.
pub(crate) fn digest(script: &str) -> String {
    sha1_smol::Sha1::from(script).digest().to_string()
}
