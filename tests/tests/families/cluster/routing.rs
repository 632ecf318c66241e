//! Random requests are redirected as redis-server redirects them.

use crate::cluster::nodes::Both;
use lockwheel_engine::spec::{Args, Flags};
use lockwheel_tests::client::Protocol;
use lockwheel_tests::differential::{Commands, Subject, seed};
use lockwheel_tests::generate::Generator;
use lockwheel_tests::pair::typed;
use std::collections::BTreeMap;

/// The number of requests.
const REQUESTS: usize = 100_000;

/// Commands that connect to other servers, or that break the test. Also commands that may name two destination keys, of
/// which redis-server checks one.
const LEFT_OUT: &[&str] = &["migrate", "ssubscribe", "sunsubscribe", "georadius", "georadiusbymember"];

/// The number of random transactions.
const TRANSACTIONS: usize = 5_000;

/// The first words of the answers to requests that do not run.
const REDIRECTS: [&str; 5] = ["MOVED", "ASK", "CROSSSLOT", "TRYAGAIN", "CLUSTERDOWN"];

fn may_be_sent(subject: &Subject) -> bool {
    let spec = subject.command.spec;
    let is_routed = !spec.keys.is_empty() || spec.key_finder.is_some();
    is_routed && !spec.has(Flags::BLOCKING) && !subject.is_newer() && !LEFT_OUT.contains(&subject.name())
}

/// Gives some of the keys of a request other slots, and lets some share a slot.
fn vary_keys(generator: &mut Generator, subject: &Subject, request: &mut [Vec<u8>]) {
    let words: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
    let keys = subject.command.key_positions(Args::new(&words));
    let tag = generator.rng().below(40);
    for at in keys {
        if at >= request.len() {
            continue;
        }
        match generator.rng().below(8) {
            0 => {}
            1 => request[at] = format!("key:{}", generator.rng().below(1000)).into_bytes(),
            _ => request[at] = [&request[at][..], format!("{{{tag}}}").as_bytes()].concat(),
        }
    }
}

#[test]
fn a_hundred_thousand_random_requests_are_sent_where_redis_sends_them() {
    let Some(mut both) = Both::start(Protocol::Resp3) else { return };
    let commands = Commands::all();
    let known: Vec<&Subject> = commands.iter().filter(|subject| may_be_sent(subject)).collect();
    assert!(known.len() > 150, "only {}", known.len());
    let mut generator = Generator::new(seed());
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for number in 0..REQUESTS {
        let subject = *generator.rng().pick(&known);
        let group = subject.command.spec.group;
        let mut request = generator.command(subject.name(), group, &subject.syntax).arguments;
        vary_keys(&mut generator, subject, &mut request);
        let [real, ours] = both.answers(number % 3, &request);
        let kind = |answer: &str| {
            let text = answer.strip_prefix('-').unwrap_or_default().to_owned();
            REDIRECTS.into_iter().find(|word| text.starts_with(word))
        };
        if kind(&real).is_some() || kind(&ours).is_some() {
            // Some commands take more arguments than in 7.0.
            let is_newer = real.starts_with("-ERR wrong number of arguments");
            if real != ours && !is_newer {
                wrong.push(format!("{}\n real: {real}\n ours: {ours}", typed(&request)));
            }
        }
        *met.entry(kind(&real).unwrap_or("run")).or_default() += 1;
    }
    let some = &wrong[..wrong.len().min(20)];
    assert!(wrong.is_empty(), "seed {}: {} of them, such as {}", seed(), wrong.len(), some.join("\n"));
    assert!(
        met["MOVED"] > REQUESTS / 10 && met["CROSSSLOT"] > REQUESTS / 100 && met["run"] > 1000,
        "{met:?}"
    );
}

/// Some transactions have malformed requests, and some watch a changed key.
fn random_transaction(generator: &mut Generator, known: &[&Subject], node: usize) -> Vec<Vec<Vec<u8>>> {
    let words = |line: &str| -> Vec<Vec<u8>> { line.split(' ').map(|word| word.into()).collect() };
    let mut requests = Vec::new();
    if generator.rng().below(4) == 0 {
        // The keys are in slots of the three nodes.
        let key = ["b", "a", "foo"][node];
        requests.extend([words(&format!("WATCH {key}")), words(&format!("APPEND {key} x"))]);
    }
    requests.push(words("MULTI"));
    for _ in 0..generator.rng().below(4) {
        let subject = *generator.rng().pick(known);
        let group = subject.command.spec.group;
        let mut request = generator.command(subject.name(), group, &subject.syntax).arguments;
        vary_keys(generator, subject, &mut request);
        if generator.rng().below(20) == 0 {
            request.truncate(1);
        }
        requests.push(request);
    }
    requests.push(words("EXEC"));
    requests
}

#[test]
fn random_transactions_are_refused_where_redis_refuses_them() {
    let Some(mut both) = Both::start(Protocol::Resp2) else { return };
    let commands = Commands::all();
    let may_be_queued = |subject: &&Subject| may_be_sent(subject) && subject.name() != "watch";
    let known: Vec<&Subject> = commands.iter().filter(may_be_queued).collect();
    let mut generator = Generator::new(seed());
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for number in 0..TRANSACTIONS {
        let node = number % 3;
        let requests = random_transaction(&mut generator, &known, node);
        for request in &requests {
            let [real, ours] = both.answers(node, request).map(|answer| kind(&answer));
            let takes_more = "-ERR wrong number of arguments";
            if real.starts_with(takes_more) != ours.starts_with(takes_more) {
                // Since 7.0, some commands take more arguments.
                both.answers(node, &[b"DISCARD".to_vec()]);
                break;
            }
            let told = || requests.iter().map(|request| typed(request)).collect::<Vec<_>>().join("\n");
            assert_eq!(real, ours, "seed {}: {}", seed(), told());
            *met.entry(real.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    for kind in ["-EXECABORT", "-CROSSSLOT", "-MOVED", "(nil)", "+QUEUED", "run"] {
        assert!(met.get(kind).is_some_and(|&count| count > 50), "{kind}: {met:?}");
    }
}

/// The kind of an answer, without its data.
fn kind(answer: &str) -> String {
    let says_all = answer.starts_with(['-', '+', '(']);
    if says_all { answer.to_owned() } else { "run".to_owned() }
}
