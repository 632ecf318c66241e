//! Tests of streams against a naive model, and against the observed behaviour of a real server.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A stream as a map from ids to pairs.
#[derive(Debug, Default)]
struct Model {
    entries: BTreeMap<StreamId, Vec<Vec<u8>>>,
    last: StreamId,
}

#[derive(Clone, Debug)]
enum Step {
    Append { ms: u64, seq: u64, texts: Vec<Vec<u8>> },
    Delete(prop::sample::Index),
    Last(usize),
    From(prop::sample::Index),
    Whole { keep: usize, limit: usize },
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "7", "-1", "300"]).prop_map(|text| text.as_bytes().to_vec()),
        1 => any::<i64>().prop_map(|value| value.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let pair = (text(), text()).prop_map(|(field, value)| [field, value]);
    let texts = prop::collection::vec(pair, 1..4).prop_map(|pairs| pairs.concat());
    let append = (prop_oneof![Just(0), 0_u64..300, 0_u64..(1 << 40)], 0_u64..4, texts);
    prop_oneof![
        12 => append.prop_map(|(ms, seq, texts)| Step::Append { ms, seq, texts }),
        6 => any::<prop::sample::Index>().prop_map(Step::Delete),
        1 => (0_usize..30).prop_map(Step::Last),
        1 => any::<prop::sample::Index>().prop_map(Step::From),
        1 => (0_usize..30, 0_usize..8).prop_map(|(keep, limit)| Step::Whole { keep, limit }),
    ]
}

impl Model {
    fn id(&self, index: prop::sample::Index) -> StreamId {
        let ids: Vec<StreamId> = self.entries.keys().copied().collect();
        if ids.is_empty() { StreamId::new(5, 5) } else { ids[index.index(ids.len())] }
    }

    fn keep_last(&mut self, most: usize) -> usize {
        let gone = self.entries.len().saturating_sub(most);
        (0..gone).for_each(|_| drop(self.entries.pop_first()));
        gone
    }

    fn run(&mut self, stream: &mut Stream, step: &Step, limits: NodeLimits) {
        match step {
            Step::Append { ms, seq, texts } => {
                let id =
                    StreamId::new(self.last.ms + ms, if *ms == 0 { self.last.seq + 1 + seq } else { *seq });
                let slices: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
                stream.log.append(id, &slices, limits).unwrap();
                self.entries.insert(id, texts.clone());
                self.last = id;
            }
            Step::Delete(index) => {
                let id = self.id(*index);
                assert_eq!(stream.log.delete(id), self.entries.remove(&id).is_some());
            }
            Step::Last(most) => {
                let trim = Trim { keep: Keep::Last(*most), whole_nodes: false, limit: 0 };
                assert_eq!(stream.log.trim(trim).0, self.keep_last(*most));
            }
            Step::From(index) => {
                let id = self.id(*index);
                let trim = Trim { keep: Keep::From(id), whole_nodes: false, limit: 0 };
                let kept = self.entries.split_off(&id);
                assert_eq!(stream.log.trim(trim).0, self.entries.len());
                self.entries = kept;
            }
            Step::Whole { keep, limit } => {
                let trim = Trim { keep: Keep::Last(*keep), whole_nodes: true, limit: *limit };
                let removed = stream.log.trim(trim).0;
                assert!(*limit == 0 || removed <= *limit);
                let left = self.entries.len() - removed;
                assert!(removed == 0 || left >= *keep);
                self.keep_last(left);
            }
        }
    }

    fn check(&self, stream: &Stream) {
        let log = &stream.log;
        assert_eq!((log.len(), log.last_id()), (self.entries.len(), self.last));
        assert_eq!(log.first_id(), self.entries.keys().next().copied().unwrap_or_default());
        assert_eq!(log.last_entry_id(), self.entries.keys().next_back().copied().unwrap_or_default());
        assert!(
            log.range(StreamId::MIN, StreamId::MAX).map(read).eq(self.read(StreamId::MIN, StreamId::MAX))
        );
        let back: Vec<_> = self.read(StreamId::MIN, StreamId::MAX).collect();
        assert!(log.range_back(StreamId::MIN, StreamId::MAX).map(read).eq(back.into_iter().rev()));
    }

    fn read(&self, start: StreamId, end: StreamId) -> impl Iterator<Item = (StreamId, Vec<Vec<u8>>)> {
        self.entries.range(start..=end).map(|(id, texts)| (*id, texts.clone()))
    }
}

fn read(entry: Entry<'_>) -> (StreamId, Vec<Vec<u8>>) {
    let texts = entry.pairs().flat_map(|(field, value)| [field.to_vec(), value.to_vec()]);
    (entry.id(), texts.collect())
}

proptest! {
    #[test]
    fn a_log_is_a_map_of_ids(
        steps in prop::collection::vec(step(), 0..120),
        limits in prop::sample::select(vec![(4096, 100), (0, 3), (0, 0), (200, 0), (60, 2), (1, 1)]),
        ends in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let limits = NodeLimits { bytes: limits.0, entries: limits.1 };
        let (mut stream, mut model) = (Stream::new(), Model::default());
        for step in &steps {
            model.run(&mut stream, step, limits);
            model.check(&stream);
        }
        let (start, end) = (model.id(ends.0), model.id(ends.1));
        if start <= end {
            let expected: Vec<_> = model.read(start, end).collect();
            prop_assert!(stream.log.range(start, end).map(read).eq(expected.iter().cloned()));
            prop_assert!(stream.log.range_back(start, end).map(read).eq(expected.into_iter().rev()));
        }
        let copy = stream.clone();
        model.check(&copy);
        prop_assert!(copy.heap_bytes() <= stream.heap_bytes());
        let (counted, mut again) = (copy.heap_bytes(), copy.clone());
        again.log.recount();
        prop_assert_eq!(again.heap_bytes(), counted);
        model.check(&restored(&stream));
    }
}

/// The stream after it was written to a file and read again.
fn restored(stream: &Stream) -> Stream {
    let (log, mut copy) = (&stream.log, Stream::new());
    let own = |text: crate::values::Text<'_>| text.to_vec();
    for node in log.node_views() {
        let fields: Vec<Vec<u8>> = node.shared_fields().map(|(field, _)| own(field)).collect();
        copy.log.push_node(node.first_id(), &fields.iter().map(Vec::as_slice).collect::<Vec<_>>());
        for entry in node.entries() {
            let own_fields = !entry.shares_fields();
            let texts = entry
                .pairs()
                .flat_map(|(field, value)| own_fields.then(|| own(field)).into_iter().chain([own(value)]));
            let texts: Vec<Vec<u8>> = texts.collect();
            let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            copy.log.push_restored(entry.id(), entry.is_deleted(), own_fields, &texts);
        }
    }
    copy.log.finish_restored(Some(log.first_id()), log.last_id(), log.entries_added(), log.max_deleted_id());
    copy
}

#[test]
fn memory_is_counted_as_it_grows_and_shrinks() {
    let limits = NodeLimits { bytes: 4096, entries: 100 };
    let mut stream = Stream::new();
    for n in 1..=10_000 {
        stream.log.append(StreamId::new(n, 0), &[b"field", b"value", b"other", b"12345"], limits).unwrap();
    }
    let full = stream.heap_bytes();
    assert!((140_000..260_000).contains(&full), "{full}");
    let mut copy = stream.clone();
    copy.log.recount();
    assert!(copy.heap_bytes() <= full);
    stream.log.trim(Trim { keep: Keep::Last(0), whole_nodes: false, limit: 0 });
    assert_eq!((stream.heap_bytes(), stream.log.node_count()), (0, 0));
}

#[test]
fn the_memory_of_a_group_is_counted_after_a_change() {
    let mut stream = Stream::new();
    assert!(stream.groups.add(b"group", Group::new(StreamId::MIN, None)));
    assert!(!stream.groups.add(b"group", Group::new(StreamId::MIN, None)));
    let empty = stream.heap_bytes();
    {
        let mut group = stream.groups.edit(b"group").unwrap();
        let (one, is_new) = group.find_or_add(b"one", 5);
        assert!(is_new && !group.find_or_add(b"one", 6).1);
        let two = group.find_or_add(b"two", 5).0;
        for seq in 0..1000 {
            let consumer = if seq % 2 == 0 { one } else { two };
            group.assign(StreamId::new(1, seq), Pending { consumer, delivered_ms: 5, deliveries: 1 });
        }
        group.assign(StreamId::new(1, 1), Pending { consumer: one, delivered_ms: 5, deliveries: 1 });
        let pending = |id| group.consumer(id).unwrap().pending().len();
        assert_eq!((pending(one), pending(two)), (501, 499));
    }
    let full = stream.heap_bytes();
    assert!(full > empty + 56_000, "{full}");
    let mut copy = stream.clone();
    assert!(copy.heap_bytes() <= full);
    assert!(copy.groups.remove(b"group").is_some());
    assert_eq!(copy.heap_bytes(), 0);
    {
        let mut group = stream.groups.edit(b"group").unwrap();
        assert_eq!((group.remove_consumer(b"two"), group.remove_consumer(b"two")), (Some(499), None));
        assert!(group.acknowledge(StreamId::new(1, 1)) && !group.acknowledge(StreamId::new(1, 1)));
        assert_eq!(group.remove_consumer(b"one"), Some(500));
        assert!(group.pending().is_empty());
    }
    assert_eq!(stream.heap_bytes(), empty);
    assert!(stream.groups.remove(b"group").is_some());
    assert_eq!(stream.heap_bytes(), 0);
}

#[test]
fn large_texts_are_refused_before_they_are_copied() {
    let mut stream = Stream::new();
    let large = vec![0; NodeLimits::LARGEST];
    let limits = NodeLimits { bytes: 0, entries: 0 };
    assert_eq!(stream.log.append(StreamId::new(1, 1), &[b"f", &large], limits), Err(TooLarge));
    assert_eq!((stream.len(), stream.heap_bytes()), (0, 0));
}

#[derive(Clone, Debug)]
enum GroupStep {
    Assign { id: u64, consumer: usize },
    Acknowledge(u64),
    DeliverAgain(u64),
    Remove(usize),
}

fn group_step() -> impl Strategy<Value = GroupStep> {
    prop_oneof![
        6 => (0_u64..20, 0_usize..4).prop_map(|(id, consumer)| GroupStep::Assign { id, consumer }),
        3 => (0_u64..20).prop_map(GroupStep::Acknowledge),
        1 => (0_u64..20).prop_map(GroupStep::DeliverAgain),
        1 => (0_usize..4).prop_map(GroupStep::Remove),
    ]
}

proptest! {
    /// Each entry is pending with one consumer, and each consumer has its own entries.
    #[test]
    fn a_group_is_a_map_of_pending_entries(steps in prop::collection::vec(group_step(), 0..100)) {
        const NAMES: [&[u8]; 4] = [b"", b"a", b"b", b"ab"];
        let mut stream = Stream::new();
        stream.groups.add(b"g", Group::default());
        let mut model: BTreeMap<StreamId, (usize, u64)> = BTreeMap::new();
        for step in steps {
            let mut group = stream.groups.edit(b"g").unwrap();
            match step {
                GroupStep::Assign { id, consumer } => {
                    let id = StreamId::new(id, 0);
                    let (number, _) = group.find_or_add(NAMES[consumer], 0);
                    group.assign(id, Pending { consumer: number, delivered_ms: 0, deliveries: 1 });
                    model.insert(id, (consumer, 1));
                }
                GroupStep::Acknowledge(id) => {
                    let id = StreamId::new(id, 0);
                    prop_assert_eq!(group.acknowledge(id), model.remove(&id).is_some());
                }
                GroupStep::DeliverAgain(id) => {
                    let id = StreamId::new(id, 0);
                    group.deliver_again(id, 5);
                    model.entry(id).and_modify(|(_, deliveries)| *deliveries += 1);
                }
                GroupStep::Remove(consumer) => {
                    let before = model.len();
                    let there = group.find(NAMES[consumer]).is_some();
                    model.retain(|_, (of, _)| *of != consumer);
                    let removed = there.then_some(before - model.len());
                    prop_assert_eq!(group.remove_consumer(NAMES[consumer]), removed);
                }
            }
            let name = |id: ConsumerId| group.consumer(id).unwrap().name();
            let pending = group.pending().iter().map(|(id, one)| (*id, name(one.consumer), one.deliveries));
            prop_assert!(pending.eq(model.iter().map(|(id, (of, count))| (*id, NAMES[*of], *count))));
            for (_, consumer) in group.consumers() {
                let own = model.iter().filter(|(_, (of, _))| NAMES[*of] == consumer.name());
                prop_assert!(consumer.pending().eq(own.map(|(id, _)| *id)));
            }
        }
        prop_assert!(stream.groups.remove(b"g").is_some());
        prop_assert_eq!(stream.heap_bytes(), 0);
    }
}
