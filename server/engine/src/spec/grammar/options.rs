//! The fast path for most requests: the leading arguments, with which each request begins, then options in any order.

use super::super::args::Args;
use super::matcher::Matcher;
use super::mismatch::Mismatch;
use super::{CommandGrammar, MAX_TOLD_LEN};

impl CommandGrammar {
    pub(super) fn match_words(&'static self, args: Args<'_>, places: &mut [u32]) -> Result<u64, Mismatch> {
        if let Some(given) = self.match_options(args, places) {
            return Ok(given);
        }
        places.fill(0);
        Matcher::new(self, args, places).whole()
    }

    /// Matches a request of tokens and plain arguments. `None` for other requests, and for a mistake.
    pub(super) fn match_options(&self, args: Args<'_>, places: &mut [u32]) -> Option<u64> {
        let (mut given, mut at) = (0, usize::from(self.head.count) + 1);
        while let Some(word) = args.get(at) {
            let number = self.token_among(self.head.options, word)?;
            let token = &self.tokens[number];
            if given & token.alternatives != 0 {
                return None;
            }
            given |= 1 << number;
            places[number] = u32::try_from(at).ok()?;
            at += 1 + token.values()?;
        }
        (self.head.options != 0 && at == args.len()).then_some(given)
    }

    /// The number of a word as a token, in any case, if it is one of these tokens.
    #[inline]
    pub(super) fn token_among(&self, tokens: u64, word: &[u8]) -> Option<usize> {
        let mut left = tokens & self.by_len[word.len().min(MAX_TOLD_LEN)];
        while left != 0 {
            let token = left.trailing_zeros() as usize;
            if word.eq_ignore_ascii_case(self.tokens[token].text.as_bytes()) {
                return Some(token);
            }
            left &= left - 1;
        }
        None
    }
}
