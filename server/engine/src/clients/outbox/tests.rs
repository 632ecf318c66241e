//! Replies and messages in their order, and what they are counted as.

use super::*;
use proptest::prelude::*;

fn bulk(outbox: &mut Outbox, bytes: &[u8]) {
    outbox.reply(Protocol::Resp2, |reply| reply.bulk(bytes));
}

fn send(outbox: &mut Outbox, bytes: &[u8], receivers: usize) {
    let write = |reply: &mut dyn Reply| reply.bulk(bytes);
    let account = BufferBytes::default();
    outbox.message(&mut Message::new(&account, bytes.len(), receivers, &write), Protocol::Resp2);
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

#[test]
fn unread_output_takes_little_more_than_its_bytes() {
    for (size, receivers) in [(3, 1), (100, 2), (1025, 1), (10_000, 1), (20_000, 1), (300_000, 1)] {
        let mut outbox = Outbox::default();
        let text = vec![b'x'; size];
        while outbox.len() < 4 << 20 {
            send(&mut outbox, &text, receivers);
        }
        let memory = outbox.memory();
        assert!(memory < outbox.len() * 21 / 20, "{size}: {memory} for {}", outbox.len());
        let mut replies = Outbox::default();
        while replies.len() < 4 << 20 {
            bulk(&mut replies, &text);
        }
        replies.settle();
        assert!(replies.memory() < replies.len() * 21 / 20, "{size}: {}", replies.memory());
    }
}

#[test]
fn a_message_to_many_is_kept_once() {
    let text = vec![b'x'; 10_000];
    let write = |reply: &mut dyn Reply| reply.bulk(&text);
    let account = BufferBytes::default();
    let mut message = Message::new(&account, text.len(), 3, &write);
    let mut outboxes: [Outbox; 3] = Default::default();
    outboxes.iter_mut().for_each(|outbox| outbox.message(&mut message, Protocol::Resp2));
    assert_eq!(message.shared[0].as_ref().map(SharedBytes::owners), Some(4));
    for outbox in &mut outboxes {
        assert!(outbox.memory() < 1000, "{}", outbox.memory());
        assert!(outbox.piece_memory() > text.len() && outbox.pieces() == 1);
        assert!((text.len()..text.len() * 5 / 4).contains(&account.get()), "{}", account.get());
        assert_eq!(outbox.bytes(), framed(&text));
    }
    drop(message);
    assert_eq!(account.get(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Reply(usize),
    Message(usize, usize),
    Append(usize),
    Settle,
    Take(usize),
    Bytes,
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![0_usize..40, 1000_usize..20_000, 250_000_usize..270_000];
    prop_oneof![
        size.clone().prop_map(Step::Reply),
        (size.clone(), 1_usize..3).prop_map(|(size, receivers)| Step::Message(size, receivers)),
        size.prop_map(Step::Append),
        Just(Step::Settle),
        (0_usize..30_000).prop_map(Step::Take),
        Just(Step::Bytes),
    ]
}

proptest! {
    #[test]
    fn an_outbox_is_a_queue_of_bytes(steps in prop::collection::vec(step(), 1..40)) {
        let (mut outbox, mut model) = (Outbox::default(), Vec::new());
        for (at, step) in steps.into_iter().enumerate() {
            let text = |size| vec![b'a' + (at % 26) as u8; size];
            match step {
                Step::Reply(size) => {
                    bulk(&mut outbox, &text(size));
                    model.extend(framed(&text(size)));
                }
                Step::Message(size, receivers) => {
                    send(&mut outbox, &text(size), receivers);
                    model.extend(framed(&text(size)));
                }
                Step::Append(size) => {
                    let mut other = Outbox::default();
                    bulk(&mut other, b"first");
                    send(&mut other, &text(size), 2);
                    bulk(&mut other, b"last");
                    other.take(4);
                    outbox.append(&mut other);
                    prop_assert!(other.is_empty());
                    let all = [framed(b"first"), framed(&text(size)), framed(b"last")].concat();
                    model.extend(&all[4..]);
                }
                Step::Settle => outbox.settle(),
                Step::Take(count) => {
                    let count = count.min(model.len());
                    outbox.take(count);
                    model.drain(..count);
                }
                Step::Bytes => prop_assert_eq!(outbox.bytes(), &*model),
            }
            prop_assert_eq!((outbox.len(), outbox.is_empty()), (model.len(), model.is_empty()));
            let memory = outbox.pieces.iter().map(Piece::memory).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            prop_assert_eq!((outbox.own, outbox.shared), memory);
            let mut slices = [IoSlice::new(&[]); 3];
            let count = outbox.first(&mut slices);
            let first: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.to_vec()).collect();
            prop_assert!(model.starts_with(&first) && first.is_empty() == model.is_empty());
        }
        prop_assert_eq!(outbox.bytes(), &*model);
    }
}
