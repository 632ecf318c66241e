//! The keys that the stream of a master has changed.

use super::state::Replication;
use crate::spec::{Args, CommandTable};
use lockwheel_resp::{Batch, RequestLimits, RequestParser};

impl Replication {
    /// Returns the distinct keys of the stream after an offset, at most `most`, and whether these are all.
    pub(crate) fn keys_written_since(
        &self,
        offset: i64,
        commands: &CommandTable,
        most: usize,
    ) -> (Vec<Vec<u8>>, bool) {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let Some(bytes) = self.stream_since(offset + 1) else { return (keys, false) };
        let (mut parser, mut batch, limits) = (RequestParser::new(), Batch::new(), RequestLimits::default());
        let mut at = 0;
        while at < bytes.len() && keys.len() <= most {
            let parsed = parser.parse(&bytes[at..], &limits, &mut batch);
            for request in 0..batch.len() {
                batch.with_arguments(request, &bytes[at..], |argv| {
                    let args = Args::new(argv);
                    let named = commands.resolve(args).into_iter().flat_map(|command| command.keys_of(args));
                    for key in named {
                        if !keys.iter().any(|known| known == key) {
                            keys.push(key.to_vec());
                        }
                    }
                });
            }
            at += batch.consumed();
            if parsed.is_err() || batch.consumed() == 0 {
                break;
            }
        }
        let is_all = keys.len() <= most;
        keys.truncate(most);
        (keys, is_all)
    }
}
