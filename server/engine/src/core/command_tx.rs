//! The transaction in which a command runs, with a report if it unwinds.

use crate::spec::{Args, CommandId, CommandTable, Flags, KeyFlags};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The transaction of one command. A command that unwinds (on a failed allocation or a bug) may have changed keys
/// unreported. Each of its keys is then reported as changed, and removed if empty, so that replicas, watches and caches
/// agree with the data. A command that completes pays nothing.
pub(super) struct CommandTx<'a> {
    tx: Tx<'a>,
    /// The database in which the command began.
    db: usize,
    commands: &'a CommandTable,
    command: CommandId,
    args: Args<'a>,
}

impl<'a> CommandTx<'a> {
    #[inline(always)]
    pub(super) fn new(tx: Tx<'a>, commands: &'a CommandTable, command: CommandId, args: Args<'a>) -> Self {
        CommandTx { db: tx.db(), tx, commands, command, args }
    }

    #[inline(always)]
    pub(super) fn run<T>(mut self, run: impl FnOnce(&mut Tx<'a>) -> T) -> T {
        let result = run(&mut self.tx);
        // Only unwinding drops the value.
        std::mem::forget(self);
        result
    }

    fn report(&mut self) {
        let spec = self.commands.get(self.command).spec;
        if !spec.flags.contains(Flags::WRITE) {
            return;
        }
        // XREADGROUP changes consumer groups, although it only reads the stream.
        let is_quiet = spec.keys.iter().all(|key| key.flags.contains(KeyFlags::RO));
        let databases = [self.tx.db(), self.db];
        let databases = if databases[0] == databases[1] { &databases[..1] } else { &databases[..] };
        for (position, flags) in spec.find_touched_keys(self.args) {
            let Some(key) = self.args.get(position).filter(|_| is_quiet || !flags.contains(KeyFlags::RO))
            else {
                continue;
            };
            for &db in databases {
                self.tx.select(db);
                if is_quiet {
                    self.tx.count_quiet_changes(key, 1);
                    continue;
                }
                if self.tx.peek(key).is_some_and(Value::is_empty) {
                    self.tx.discard(key);
                }
                self.tx.touched(key);
            }
        }
    }
}

impl Drop for CommandTx<'_> {
    #[cold]
    fn drop(&mut self) {
        // A second panic during unwinding would abort the process.
        let _panic = catch_unwind(AssertUnwindSafe(|| self.report()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::core::Engine;
    use crate::propagation::{Feed, FeedRules, Receivers, Unit};
    use lockwheel_resp::allocation::{OutOfMemory, contain};
    use lockwheel_resp::{Batch, RequestLimits, RequestParser};
    use lockwheel_store::keyspace::Edit;
    use lockwheel_store::time::Now;
    use lockwheel_store::values::{End, List};

    /// Returns the keys reported to replicas, and the length of the list at `a`, when a command runs out of memory
    /// after `added` elements there.
    fn after(argv: &[&[u8]], added: usize) -> (Vec<Vec<u8>>, Option<usize>) {
        let mut engine = Engine::new(Config::default(), 1, Now::default());
        Feed::turn(&mut engine.keyspace, Some(FeedRules { for_7_0: false, receivers: Receivers::ALL }));
        let args = Args::new(argv);
        let command = engine.commands.resolve(args).expect("there is such a command").id;
        let tx = engine.keyspace.tx(0, Now::default());
        let ended = contain(|| {
            CommandTx::new(tx, &engine.commands, command, args).run(|tx| {
                let Edit { value: list, encodings, .. } = tx.write_or_new::<List>(b"a").expect("a list");
                (0..added).for_each(|_| list.push(End::Left, b"element", encodings));
                OutOfMemory { bytes: 1 }.unwind();
            })
        });
        assert_eq!(ended, Err(OutOfMemory { bytes: 1 }));
        let keys = Feed::end_unit(&mut engine.keyspace, Now::default(), keys_of).expect("it is subscribed");
        let len = engine.keyspace.tx(0, Now::default()).read::<List>(b"a").expect("a list").map(List::len);
        (keys, len)
    }

    fn keys_of(unit: &Unit) -> Vec<Vec<u8>> {
        let (mut stream, mut batch) = (Vec::new(), Batch::new());
        unit.write(Some(0), |receivers| receivers.replicas, &mut stream);
        RequestParser::new().parse(&stream, &RequestLimits::default(), &mut batch).expect("requests");
        let second =
            |request| batch.with_arguments(request, &stream, |argv| argv.get(1).map(|key| key.to_vec()));
        (0..batch.len()).filter_map(second).collect()
    }

    #[test]
    fn changes_of_a_command_are_reported_after_a_panic() {
        assert_eq!(after(&[b"RPUSH", b"a", b"x", b"y"], 1), (vec![b"a".to_vec()], Some(1)));
        assert_eq!(
            after(&[b"LMOVE", b"b", b"a", b"LEFT", b"LEFT"], 1),
            (vec![b"b".to_vec(), b"a".to_vec()], Some(1))
        );
        // The stored elements come from keys that are only read.
        assert_eq!(after(&[b"SDIFFSTORE", b"a", b"b", b"c"], 1), (vec![b"a".to_vec()], Some(1)));
        // Group deliveries are reported without events, and the key stays.
        let read: &[&[u8]] = &[b"XREADGROUP", b"GROUP", b"g", b"c", b"STREAMS", b"a", b"b", b">", b">"];
        assert_eq!(after(read, 1), (vec![b"a".to_vec(), b"b".to_vec()], Some(1)));
        // A command that only reads has changed nothing.
        assert_eq!(after(&[b"LRANGE", b"a", b"0", b"1"], 1), (vec![], Some(1)));
    }

    #[test]
    fn a_key_left_empty_by_a_panic_is_removed() {
        assert_eq!(after(&[b"RPUSH", b"a", b"x"], 0), (vec![b"a".to_vec()], None));
    }
}
