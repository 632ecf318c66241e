//! Real clients of Redisson that a test controls call by call, in one JVM, with the lines that `Steered.java`
//! documents.

use crate::redisson::Redisson;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest wait for the outcome of a call. It is a safety net, not part of any test's meaning.
const SAFETY_NET: Duration = Duration::from_secs(90);

/// The outcome of a call: its result, or the exception that it threw.
pub type Outcome = Result<String, String>;

/// The senders of outcomes, by the number of the awaited answer. Empty at the end of the JVM.
type Waiting = Arc<Mutex<BTreeMap<u64, Sender<Outcome>>>>;

/// A JVM with one version of Redisson. It ends with the process of the tests, if not before.
#[derive(Debug)]
pub struct Jvm {
    child: Child,
    input: Mutex<Input>,
    waiting: Waiting,
}

#[derive(Debug)]
struct Input {
    pipe: ChildStdin,
    /// The number of lines written. It numbers the calls.
    lines: u64,
    clients: u64,
}

/// The settings of a client.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The lease of locks that are taken without one, renewed at every third of it, in milliseconds.
    pub watchdog_ms: u64,
    /// The time a command waits for its answer, in milliseconds.
    pub timeout_ms: u64,
    /// The number of times a command is sent again.
    pub retries: u64,
    /// The client's use of replicas.
    pub replicas: Replicas,
}

/// A client's use of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// Not used, not even for reads. Newer versions still ask the replicas whether they have a lock.
    Unused,
    /// Asked by `WAIT` whether they have a lock, which is granted whatever they answer: `checkLockSyncedSlaves` is off.
    Asked,
    /// Required, as by default since 3.16: a lock that no replica has acknowledged is an exception.
    Heeded,
}

impl Replicas {
    fn word(self) -> &'static str {
        match self {
            Replicas::Unused => "unused",
            Replicas::Asked => "asked",
            Replicas::Heeded => "heeded",
        }
    }
}

impl Default for Setup {
    /// The settings suit an application on a slow machine, so that slowness is not taken for a fault.
    fn default() -> Setup {
        Setup { watchdog_ms: 30_000, timeout_ms: 20_000, retries: 0, replicas: Replicas::Unused }
    }
}

impl Jvm {
    /// Starts a JVM.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn start(redisson: &Redisson) -> Jvm {
        let mut command = redisson.command::<&str>("lockwheel.Steered", &[]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the JVM starts");
        let pipe = child.stdin.take().expect("standard input is a pipe");
        let output = child.stdout.take().expect("standard output is a pipe");
        let waiting = Waiting::default();
        let told = Arc::clone(&waiting);
        std::thread::spawn(move || listen(output, &told));
        Jvm { child, input: Mutex::new(Input { pipe, lines: 0, clients: 0 }), waiting }
    }

    /// A client of this name, connected to a server on this machine.
    ///
    /// # Panics
    /// Panics if it cannot connect.
    #[track_caller]
    pub fn client(&self, name: &str, port: u16, setup: Setup) -> Client<'_> {
        self.client_of(name, &[port], setup)
    }

    /// A client of this name, connected to a master on this machine and to its replicas.
    ///
    /// # Panics
    /// Panics if it cannot connect.
    #[track_caller]
    pub fn client_of(&self, name: &str, ports: &[u16], setup: Setup) -> Client<'_> {
        self.connected(name, &listed(ports), setup)
    }

    /// A client of this name, connected to the master that a sentinel on this machine, and the sentinels known to it,
    /// name `mymaster`.
    ///
    /// # Panics
    /// Panics if it cannot connect.
    #[track_caller]
    pub fn client_by_sentinel(&self, name: &str, sentinel: u16, setup: Setup) -> Client<'_> {
        self.connected(name, &format!("sentinel:{sentinel},mymaster"), setup)
    }

    /// A client of this name, connected to the master that sentinels name `m`, as those of
    /// [`Watched`](crate::shapes::Watched) do.
    ///
    /// # Panics
    /// Panics if it cannot connect.
    #[track_caller]
    pub fn client_of_watched(&self, name: &str, sentinel: u16, setup: Setup) -> Client<'_> {
        self.connected(name, &format!("sentinel:{sentinel},m"), setup)
    }

    /// A client of this name, connected to a cluster of these nodes on this machine.
    ///
    /// # Panics
    /// Panics if it cannot connect.
    #[track_caller]
    pub fn client_of_cluster(&self, name: &str, ports: &[u16], setup: Setup) -> Client<'_> {
        self.connected(name, &format!("cluster:{}", listed(ports)), setup)
    }

    /// A client of this name, connected to a master and replicas on this machine, which report their roles.
    ///
    /// # Panics
    /// Panics if it cannot connect.
    #[track_caller]
    pub fn client_of_replicated(&self, name: &str, ports: &[u16], setup: Setup) -> Client<'_> {
        self.connected(name, &format!("replicated:{}", listed(ports)), setup)
    }

    #[track_caller]
    fn connected(&self, name: &str, place: &str, setup: Setup) -> Client<'_> {
        let number = {
            let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
            input.clients += 1;
            input.clients
        };
        let client = Client { jvm: self, number };
        let Setup { watchdog_ms, timeout_ms, retries, replicas } = setup;
        let how = format!("{watchdog_ms} {timeout_ms} {retries} {}", replicas.word());
        client.thread("-").does(&format!("connect {name} {place} {how}"), "");
        client
    }

    /// Writes a line; its outcome can be waited for.
    fn write(&self, line: &str) -> Call {
        let (sender, receiver) = channel();
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.lines += 1;
        let id = input.lines;
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        // If the JVM has ended, the missing answer reports it.
        let _ = writeln!(input.pipe, "{id} {line}").and_then(|()| input.pipe.flush());
        Call { line: line.to_owned(), receiver }
    }
}

fn listed(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

impl Drop for Jvm {
    fn drop(&mut self) {
        // The JVM may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands out answers until the stream ends.
fn listen(output: ChildStdout, waiting: &Waiting) {
    let mut answers = BufReader::new(output).lines();
    while let Some(Ok(line)) = answers.next() {
        let (id, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let (kind, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let id = id.parse().unwrap_or_else(|_| panic!("no answer: {line}"));
        let asker = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        let outcome = if kind == "ok" { Ok(text.to_owned()) } else { Err(text.to_owned()) };
        // The outcome is dropped if no thread waits for it any more.
        asker.map(|asker| asker.send(outcome));
    }
    waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// One client of the JVM; its connections end with it.
#[derive(Debug)]
pub struct Client<'a> {
    jvm: &'a Jvm,
    number: u64,
}

impl Client<'_> {
    /// The name of this client in calls that use several clients.
    pub fn name(&self) -> String {
        self.number.to_string()
    }

    /// A thread of this name.
    pub fn thread(&self, name: &str) -> Thread<'_> {
        Thread { jvm: self.jvm, name: format!("{} {name}", self.number) }
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.jvm.write(&format!("{} - shutdown", self.number));
    }
}

/// A thread of a client. For Redisson, a lock's owner is a thread.
#[derive(Debug)]
pub struct Thread<'a> {
    jvm: &'a Jvm,
    name: String,
}

impl Thread<'_> {
    /// Begins a call. The thread's next call begins when this one has ended.
    pub fn begins(&self, call: &str) -> Call {
        self.jvm.write(&format!("{} {call}", self.name))
    }

    /// Makes a call and waits for its end.
    #[track_caller]
    pub fn calls(&self, call: &str) -> Outcome {
        self.begins(call).outcome()
    }

    /// Makes a call that must succeed with this result.
    #[track_caller]
    pub fn does(&self, call: &str, result: &str) {
        assert_eq!(self.calls(call).as_deref(), Ok(result), "{call}");
    }

    /// Makes a call that must throw an exception with this text in its message.
    #[track_caller]
    pub fn fails(&self, call: &str, exception: &str) {
        let outcome = self.calls(call);
        assert!(outcome.as_ref().is_err_and(|text| text.contains(exception)), "{call}: {outcome:?}");
    }

    /// The name of the thread in a lock's hash.
    #[track_caller]
    pub fn owner(&self) -> String {
        self.calls("owner").expect("every thread has a name")
    }
}

/// A call that was begun.
#[derive(Debug)]
pub struct Call {
    line: String,
    receiver: Receiver<Outcome>,
}

impl Call {
    /// Waits for the end of the call.
    ///
    /// # Panics
    /// Panics if the call does not end, or if the JVM ends before it.
    #[track_caller]
    pub fn outcome(self) -> Outcome {
        let outcome = self.receiver.recv_timeout(SAFETY_NET);
        outcome.unwrap_or_else(|error| panic!("{}: {error}", self.line))
    }
}
