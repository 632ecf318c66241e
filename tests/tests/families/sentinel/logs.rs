//! The log of sentinels that replace a master, equal to that of redis-server line by line.

use lockwheel_tests::shapes::{Make, Watched, assert_same_lines, masked_lines, until};
use std::collections::BTreeSet;

/// Words that identify lines about failovers: all events, and sentences.
const WORDS: &[&str] = &["+", "-sdown", "-odown", "-failover", " voted for ", "FAILOVER"];

/// Lines that occur by chance: the distribution of votes, the order of messages, the time at which a replica follows.
const BY_CHANCE: &[&str] = &[
    "-odown master m N.N.N.N N",
    "NAME voted for NAME N",
    "+config-update-from sentinel NAME N.N.N.N N @ m N.N.N.N N",
    "+slave-reconf-inprog slave N.N.N.N:N N.N.N.N N @ m N.N.N.N N",
    "-failover-abort-not-elected master m N.N.N.N N",
    "-failover-abort-slave-timeout master m N.N.N.N N",
    "+sdown slave N.N.N.N:N N.N.N.N N @ m N.N.N.N N",
    "-sdown slave N.N.N.N:N N.N.N.N N @ m N.N.N.N N",
    "+convert-to-slave slave N.N.N.N:N N.N.N.N N @ m N.N.N.N N",
    "+fix-slave-config slave N.N.N.N:N N.N.N.N N @ m N.N.N.N N",
    "+sdown sentinel NAME N.N.N.N N @ m N.N.N.N N",
    "-sdown sentinel NAME N.N.N.N N @ m N.N.N.N N",
    "+tilt #tilt mode entered",
    "-tilt #tilt mode exited",
];

/// The master is killed and replaced; then a sentinel is asked to replace the new one.
fn lines_of_failovers(make: Make) -> Option<BTreeSet<String>> {
    let mut watched = Watched::start(make, 2)?;
    let logs = |watched: &Watched| watched.sentinels().iter().map(|one| one.log()).collect::<Vec<_>>();
    let new = watched.replace_master();
    until("the failover has ended", || logs(&watched).iter().any(|log| log.contains("+failover-end ")));
    watched.server(0).restart();
    until("the old master follows", || {
        watched.servers()[0].says("INFO replication").contains("master_link_status:up")
    });
    // An attempt ends without a new master if another sentinel meanwhile turns the chosen replica back.
    let port = format!("\"{}\"", watched.servers()[new].port());
    until("the new master is replaced", || {
        let sentinel = &watched.sentinels()[0];
        let is_replaced = !sentinel.says("SENTINEL GET-MASTER-ADDR-BY-NAME m").contains(&port);
        if !is_replaced {
            sentinel.says("SENTINEL FAILOVER m");
        }
        is_replaced
    });
    let ends = || logs(&watched).iter().map(|log| log.matches("+failover-end ").count()).sum::<usize>();
    until("the second failover has ended", || ends() == 2);
    until("all know", || logs(&watched).iter().all(|log| log.matches("+switch-master ").count() == 2));
    Some(logs(&watched).iter().flat_map(|log| masked_lines(log, WORDS)).collect())
}

#[test]
fn failovers_are_logged_as_by_redis_server() {
    let Some(real) = lines_of_failovers(Make::Redis) else { return };
    let ours = lines_of_failovers(Make::Ours).expect("it is ours");
    assert!(real.contains("+switch-master m N.N.N.N N N.N.N.N N"), "{real:#?}");
    assert_same_lines(&ours, &real, BY_CHANCE);
}
