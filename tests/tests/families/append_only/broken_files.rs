//! Files that end too early, or have wrong bytes, at each offset: what both servers keep, and what they say.

use super::{Directory, Keeper, Kept, NotStarted, ask, request};
use lockwheel_tests::program;

const INCREMENT: &str = "appendonly.aof.1.incr.aof";
const MANIFEST: &str = "file appendonly.aof.1.incr.aof seq 1 type i\n";

/// The treatment of a file by a server: the digest of its data, if it starts; its log; the file afterwards.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    digest: Option<String>,
    log: Vec<String>,
    file: Vec<u8>,
}

fn outcome(keeper: Keeper, file: &[u8], manifest: &str, options: &[&str]) -> Option<Outcome> {
    let directory = Directory::new();
    directory.write(INCREMENT, file);
    directory.write("appendonly.aof.manifest", manifest);
    let (digest, log) = match Kept::try_start(&keeper.path()?, &directory, options) {
        Ok(kept) => (Some(ask(&mut kept.client(), "DEBUG DIGEST")), kept.log.clone()),
        Err(NotStarted { log }) => (None, log),
    };
    let texts = log.iter().filter_map(|line| line.split_once(" # ")).map(|(_, text)| text.to_owned());
    let log = texts.filter(|text| text.contains("AOF") || text.contains("append only")).collect();
    Some(Outcome { digest, log, file: directory.read(INCREMENT) })
}

fn file() -> Vec<u8> {
    let requests = ["SELECT 0", "SET a 1", "MULTI", "SET b 2", "SELECT 1", "SADD s x", "EXEC", "RPUSH l v"];
    [b"#TS:1700000000\r\n".to_vec(), requests.map(request).concat()].concat()
}

/// The beginning of the transaction, to which a file is cut that ends within it.
fn begin_of_transaction() -> usize {
    let multi = request("MULTI");
    file().windows(multi.len()).position(|bytes| bytes == multi).expect("it is there")
}

/// Removes a declared difference. redis-server leaves the beginning of a transaction that ends within a request: what
/// it appends next belongs to that transaction, and the next start drops all of it.
fn without_rest_of_transaction(outcome: &mut Outcome) {
    let (begin, rest) = (begin_of_transaction(), request("EXEC"));
    let is_cut = outcome.file.len() > begin && !outcome.file.ends_with(&request("RPUSH l v"));
    if is_cut && !outcome.file.ends_with(&rest) {
        outcome.file.truncate(begin);
    }
    for text in &mut outcome.log {
        if let Some((before, _)) = text.split_once(" at offset ") {
            *text = before.to_owned();
        }
    }
}

#[test]
fn a_file_that_ends_early_is_cut_as_by_redis() {
    let file = file();
    for len in (17..file.len()).step_by(3) {
        let (Some(mut ours), Some(mut real)) = (
            outcome(Keeper::Ours, &file[..len], MANIFEST, &[]),
            outcome(Keeper::Redis, &file[..len], MANIFEST, &[]),
        ) else {
            return;
        };
        assert!(ours.digest.is_some(), "{len}: {ours:?}");
        without_rest_of_transaction(&mut real);
        without_rest_of_transaction(&mut ours);
        assert_eq!(ours, real, "{len}");
    }
}

#[test]
fn a_file_that_ends_early_is_refused_if_that_is_wanted() {
    let options = &["--aof-load-truncated", "no"];
    let file = file();
    for len in (17..file.len()).step_by(31) {
        let ours = outcome(Keeper::Ours, &file[..len], MANIFEST, options);
        let real = outcome(Keeper::Redis, &file[..len], MANIFEST, options);
        if real.is_some() {
            assert_eq!(ours, real, "{len}");
        }
    }
}

#[test]
fn wrong_bytes_are_refused_as_by_redis() {
    let file = file();
    for at in (16..file.len()).step_by(7) {
        let mut wrong = file.clone();
        wrong[at] = b'x';
        let (Some(mut ours), Some(mut real)) =
            (outcome(Keeper::Ours, &wrong, MANIFEST, &[]), outcome(Keeper::Redis, &wrong, MANIFEST, &[]))
        else {
            return;
        };
        // redis-server logs the errors of requests that it has read.
        real.log.retain(|text| !text.contains("CRITICAL"));
        without_rest_of_transaction(&mut real);
        without_rest_of_transaction(&mut ours);
        assert_eq!(ours, real, "{at}");
    }
}

#[test]
fn a_line_that_ends_early_does_not_swallow_what_comes_next() {
    let directory = Directory::new();
    directory.write(INCREMENT, [&request("SET a 1")[..], b"#LOCKWHEEL last-gr"].concat());
    directory.write("appendonly.aof.manifest", MANIFEST);
    let kept = Kept::ours(&directory, &[]);
    assert_eq!(ask(&mut kept.client(), "SET b 2"), "+OK");
    kept.kill();
    let kept = Kept::ours(&directory, &[]);
    assert_eq!(ask(&mut kept.client(), "MGET a b"), "[\"1\", \"2\"]");
}

#[test]
fn a_transaction_that_ends_within_a_line_does_not_swallow_what_comes_next() {
    let directory = Directory::new();
    let file = [&request("SET a 1")[..], &request("MULTI"), &request("SET b 2"), b"#TS:17"].concat();
    directory.write(INCREMENT, &file);
    directory.write("appendonly.aof.manifest", MANIFEST);
    let refused = Kept::try_start(&program::path(), &directory, &["--aof-load-truncated", "no"]);
    assert!(refused.is_err() && directory.read(INCREMENT) == file);
    let kept = Kept::ours(&directory, &[]);
    assert_eq!(ask(&mut kept.client(), "SET c 3"), "+OK");
    kept.kill();
    let kept = Kept::ours(&directory, &[]);
    assert_eq!(ask(&mut kept.client(), "MGET a b c"), "[\"1\", (nil), \"3\"]");
}

#[test]
fn wrong_manifests_are_refused_in_the_words_of_redis() {
    for manifest in [
        "\n",
        "x\n",
        "file a.aof seq 1 type b",
        "file a/b seq 1 type i\n",
        "file a seq 1 type b\nfile y seq 1 type b\n",
        "file a seq 2 type i\nfile b seq 1 type i\n",
        "file a seq 1 type z\n",
        "file nothere seq 1 type i\n",
    ] {
        let ours = outcome(Keeper::Ours, b"", manifest, &[]).expect("it is there");
        assert_eq!(ours.digest, None, "{manifest:?}");
        if let Some(real) = outcome(Keeper::Redis, b"", manifest, &[]) {
            assert_eq!(real.digest, None, "{manifest:?}");
            // redis-server puts several lines into one.
            let tell = |texts: &[String]| {
                texts.iter().filter(|text| !text.contains("FATAL")).cloned().collect::<Vec<_>>()
            };
            assert_eq!(tell(&ours.log), tell(&real.log), "{manifest:?}");
        }
    }
}
