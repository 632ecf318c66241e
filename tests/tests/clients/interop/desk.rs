//! The referees over TCP, for clients in other processes: each request and each answer is a line.
//!
//! | asks | answers |
//! |---|---|
//! | `join OBJECT` | the number of the seat |
//! | `turn` | the number of the turn, or `end` |
//! | `enter alone`, `shared`, `awaited`, `done` or `token N` | `ok` |
//! | `counts-down`, `leave` | `ok` |

use crate::interop::referee::{Referee, Side, Way};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

/// The referee of each object, by its name.
pub(crate) type Referees = BTreeMap<&'static str, Arc<Referee>>;

/// Opens the desk for clients of Redisson and returns its port. The desk stays open until the process ends.
pub(crate) fn open(referees: Referees) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let referees = referees.clone();
            std::thread::spawn(move || serve(stream, &referees));
        }
    });
    port
}

/// Serves one member until it disconnects.
fn serve(stream: TcpStream, referees: &Referees) {
    stream.set_nodelay(true).expect("a socket has this option");
    let mut lines =
        BufReader::new(stream.try_clone().expect("a socket can be cloned")).lines().map_while(Result::ok);
    let mut writer = stream;
    let mut answer = |text: String| writer.write_all(format!("{text}\n").as_bytes()).is_ok();
    let Some(first) = lines.next() else { return };
    let referee = &referees[first.strip_prefix("join ").expect("a member says first where it belongs")];
    let member = referee.join(Side::Redisson);
    let mut is_there = answer(member.to_string());
    while is_there {
        let Some(line) = lines.next() else { break };
        is_there = answer(asked(referee, member, &line));
    }
    referee.leaves(member);
}

fn asked(referee: &Referee, member: usize, line: &str) -> String {
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["turn"] => return referee.turn(member).map_or("end".to_string(), |turn| turn.to_string()),
        ["enter", "alone"] => referee.enter(member, Way::Alone),
        ["enter", "shared"] => referee.enter(member, Way::Shared),
        ["enter", "awaited"] => referee.enter(member, Way::Awaited),
        ["enter", "done"] => referee.enter(member, Way::Done),
        ["enter", "token", token] => {
            referee.enter(member, Way::Token(token.parse().expect("a token is a number")))
        }
        ["counts-down"] => referee.counts_down(),
        ["leave"] => referee.leave(member),
        _ => panic!("no such question: {line}"),
    }
    "ok".to_string()
}
