//! Random requests are sent where redis-server sends them.

use crate::nodes::Both;
use lockwheel_engine::spec::{Args, Flags};
use lockwheel_tests::client::Protocol;
use lockwheel_tests::differential::{Commands, Subject, seed};
use lockwheel_tests::generate::Generator;
use lockwheel_tests::pair::typed;
use std::collections::BTreeMap;

/// How many.
const REQUESTS: usize = 100_000;

/// Those that connect to others, or end what the test needs; and those that may name two keys to store in, of which
/// redis-server looks at one.
const LEFT_OUT: &[&str] = &["migrate", "ssubscribe", "sunsubscribe", "georadius", "georadiusbymember"];

/// The words that a request is answered when it does not run.
const REDIRECTS: [&str; 5] = ["MOVED", "ASK", "CROSSSLOT", "TRYAGAIN", "CLUSTERDOWN"];

fn may_be_sent(subject: &Subject) -> bool {
    let spec = subject.command.spec;
    let is_routed = !spec.keys.is_empty() || spec.key_finder.is_some();
    is_routed && !spec.has(Flags::BLOCKING) && !subject.is_newer() && !LEFT_OUT.contains(&subject.name())
}

/// Gives some of the keys of a request other slots, and lets some share one.
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
