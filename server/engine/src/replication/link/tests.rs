//! Links in isolation: their input and output, split at any position.

use super::*;
use lockwheel_store::keyspace::Rng;

fn sent(link: &mut MasterLink) -> String {
    String::from_utf8_lossy(&link.take_output()).replace("\r\n", " ").trim_end().to_owned()
}

fn events(link: &mut MasterLink) -> Vec<LinkEvent> {
    std::iter::from_fn(|| link.next_event()).collect()
}

fn introduced(parameters: LinkParameters) -> MasterLink {
    let mut link = MasterLink::new(parameters);
    link.opened();
    assert_eq!(sent(&mut link), "*1 $4 PING");
    link.received(b"+PONG\r\n");
    link
}

#[test]
fn a_replica_introduces_itself_and_asks_for_the_missing_stream() {
    let id = ReplicationId::random(&mut Rng::new(7));
    let mut link = introduced(LinkParameters {
        user: "u".into(),
        password: b"p".into(),
        port: 7,
        ip: "1.2.3.4".into(),
        knows: Some((id, 12)),
        for_7_0: false,
        fails_over: false,
    });
    assert_eq!(
        sent(&mut link),
        "*3 $4 AUTH $1 u $1 p *3 $8 REPLCONF $14 listening-port $1 7 *3 $8 REPLCONF $10 ip-address $7 1.2.3.4 \
         *7 $8 REPLCONF $4 capa $3 eof $4 capa $6 psync2 $4 capa $6 rdb-12"
    );
    link.received(b"+OK\r\n-ERR what is a port?\r\n+OK\r\n+O");
    assert_eq!(sent(&mut link), "");
    link.received(b"K\r\n");
    assert_eq!(sent(&mut link), format!("*3 $5 PSYNC $40 {id} $2 12"));
    link.received(b"\n\n+CONTINUE\r\n*1\r\n$4\r\nPING\r\n");
    let ping = LinkEvent::Request { words: vec![b"PING".to_vec()], raw: b"*1\r\n$4\r\nPING\r\n".to_vec() };
    assert_eq!(events(&mut link), [LinkEvent::Continue(None), ping]);
    link.acknowledge(26, None);
    assert_eq!(sent(&mut link), "*3 $8 REPLCONF $3 ACK $2 26");
}

#[test]
fn a_link_asks_for_forms_that_older_sub_replicas_read() {
    let mut link = introduced(LinkParameters { for_7_0: true, ..LinkParameters::default() });
    assert!(sent(&mut link).ends_with("*5 $8 REPLCONF $4 capa $3 eof $4 capa $6 psync2"));
}

#[test]
fn the_snapshot_and_the_stream_may_arrive_in_any_pieces() {
    let id = ReplicationId::random(&mut Rng::new(7));
    let stream = "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n";
    let answer = format!("+PONG\r\n+OK\r\n+OK\r\n+FULLRESYNC {id} 5\r\n\n$4\r\nsnap{stream}").into_bytes();
    for piece in 1..=answer.len() {
        let mut link = MasterLink::new(LinkParameters::default());
        link.opened();
        let mut happened = Vec::new();
        for bytes in answer.chunks(piece) {
            link.received(bytes);
            happened.extend(events(&mut link));
        }
        assert_eq!(happened[..2], [LinkEvent::FullResync(id, 5), LinkEvent::Snapshot(b"snap".to_vec())]);
        let (mut words, mut raw) = (Vec::new(), Vec::new());
        for event in &happened[2..] {
            let LinkEvent::Request { words: more, raw: bytes } = event else { panic!("{event:?}") };
            words.extend(more.iter().map(|word| String::from_utf8_lossy(word).into_owned()));
            raw.extend(bytes);
        }
        assert_eq!(
            (words.join(" "), raw),
            ("SELECT 3 SET k \r\n".to_owned(), stream.as_bytes().to_vec()),
            "{piece}"
        );
    }
}

#[test]
fn a_refusal_of_the_master_ends_the_link() {
    for (answers, why) in [
        ("-ERR unknown", "Error reply to PING from master: '-ERR unknown'"),
        ("-NOAUTH a\n-WRONGPASS b", "Unable to AUTH to MASTER: -WRONGPASS b"),
        ("+PONG\n+OK\n+OK\n+OK\n-NOMASTERLINK x", "Unexpected reply to PSYNC from master: -NOMASTERLINK x"),
        ("+PONG\n+OK\n+OK\n+OK\n+CONTINUE", "Unexpected reply to PSYNC from master: +CONTINUE"),
        (
            "+PONG\n+OK\n+OK\n+OK\n+FULLRESYNC x 1",
            "Master replied with wrong +FULLRESYNC syntax: +FULLRESYNC x 1",
        ),
    ] {
        let mut link = MasterLink::new(LinkParameters { password: b"p".into(), ..LinkParameters::default() });
        link.opened();
        link.received(format!("{answers}\n").as_bytes());
        link.received(b"more");
        assert_eq!(events(&mut link), [LinkEvent::Failed(why.to_owned())]);
    }
}

#[test]
fn the_successor_is_asked_to_take_over() {
    let id = ReplicationId::random(&mut Rng::new(7));
    let knows = Some((id, 12));
    let mut link = introduced(LinkParameters { knows, fails_over: true, ..LinkParameters::default() });
    assert!(!link.asked_in_vain());
    link.received(b"+OK\r\n+OK\r\n");
    assert!(sent(&mut link).ends_with(&format!("*4 $5 PSYNC $40 {id} $2 12 $8 FAILOVER")));
    assert!(link.asked_in_vain());
    link.received(b"-ERR not mine\r\n");
    assert!(link.asked_in_vain());
    let mut link = introduced(LinkParameters { knows, fails_over: true, ..LinkParameters::default() });
    link.received(b"+OK\r\n+OK\r\n+CONTINUE\r\n");
    assert!(!link.asked_in_vain());
}
