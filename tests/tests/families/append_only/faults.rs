//! Operations on files that fail, and ends of the process between two of them: injected where the engine meets its
//! host. Whatever happens, the next start has all writes.

use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Outbox, Peer, Slot};
use lockwheel_engine::config::{Config, HostChanges, HostRefusal, Permission};
use lockwheel_engine::core::{
    AppendLog, DataLoad, DiskEvent, DiskFiles, FileChange, FileWork, FileWorkDone, Host, LoadAccess,
    LoadError, LogSync, NotConnected, Output, Target, TargetAddress,
};
use lockwheel_store::time::Now;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// The files of a host.
#[derive(Clone, Debug, Default)]
struct Disk {
    files: BTreeMap<String, Vec<u8>>,
    /// The file to which the engine appends.
    open: Option<String>,
    appended: u64,
    /// The operations so far.
    operations: Vec<String>,
    /// The number of the operation that fails.
    failing: Option<usize>,
    /// The beginning of all operations that fail.
    failing_kind: Option<&'static str>,
    /// Whether a replacement or change of a file that fails has its effect all the same.
    fails_late: bool,
    /// The files whose writes in the background go on only when the test says so, if it does: with the serial numbers.
    held: Option<Vec<(String, Vec<u8>, u64)>>,
    /// The ends of rewrites that go on only when the test says so, if it does: with their numbers.
    held_work: Option<Vec<(FileWork, u64)>>,
    /// The limits of clients that the host has followed.
    limits: Vec<usize>,
    /// The files after each operation.
    states: Vec<BTreeMap<String, Vec<u8>>>,
}

impl Disk {
    fn operate<T>(
        &mut self,
        operation: String,
        act: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> io::Result<T> {
        let number = self.operations.len();
        let fails = self.failing == Some(number)
            || self.failing_kind.is_some_and(|beginning| operation.starts_with(beginning));
        let has_effect = !fails || (self.fails_late && !operation.starts_with("open"));
        self.operations.push(operation);
        let done = if has_effect { act(self) } else { Err(io::ErrorKind::StorageFull.into()) };
        let done = if fails { Err(io::ErrorKind::StorageFull.into()) } else { done };
        self.states.push(self.files.clone());
        done
    }
}

/// A host with these files.
#[derive(Clone, Default)]
struct FakeHost(Arc<Mutex<Disk>>);

impl FakeHost {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().expect("no test has panicked")
    }

    /// Returns a host with the files of another one, whose process has ended.
    fn with(files: BTreeMap<String, Vec<u8>>) -> Self {
        FakeHost(Arc::new(Mutex::new(Disk { files, ..Disk::default() })))
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Host for FakeHost {
    fn now(&self) -> Now {
        Now::default()
    }

    fn stopwatch_ns(&self) -> u64 {
        0
    }

    fn serve_while_slow(&self, _: &mut Engine) {}

    fn follow(&self, config: &Config, _: HostChanges) -> Result<(), HostRefusal> {
        self.disk().limits.push(config.maxclients);
        Ok(())
    }

    fn write_in_background(
        &self,
        directory: &str,
        path: &str,
        bytes: Vec<u8>,
        serial: u64,
    ) -> Option<io::Result<()>> {
        if let Some(held) = &mut self.disk().held {
            held.push((path.to_owned(), bytes, serial));
            return None;
        }
        Some(self.write_file(directory, path, &bytes))
    }

    fn work_in_background(&self, directory: &str, work: FileWork, number: u64) -> Option<FileWorkDone> {
        if let Some(held) = &mut self.disk().held_work {
            held.push((work, number));
            return None;
        }
        assert_eq!(directory, Config::default().dir);
        Some(work.run(self))
    }

    fn read_file(&self, _: &str, path: &str) -> io::Result<Vec<u8>> {
        self.disk().files.get(path).cloned().ok_or_else(missing)
    }

    fn write_file(&self, _: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.disk().operate(format!("write {path}"), |disk| {
            disk.files.insert(path.to_owned(), bytes.to_vec());
            Ok(())
        })
    }

    fn change_file(&self, _: &str, change: FileChange<'_>) -> io::Result<()> {
        self.disk().operate(format!("{change:?}"), |disk| {
            match change {
                FileChange::CreateDirectory(_) => {}
                FileChange::Rename { from, to } => {
                    let bytes = disk.files.remove(from).ok_or_else(missing)?;
                    disk.files.insert(to.to_owned(), bytes);
                    if disk.open.as_deref() == Some(from) {
                        disk.open = Some(to.to_owned());
                    }
                }
                FileChange::Remove(path) => drop(disk.files.remove(path).ok_or_else(missing)?),
                FileChange::Cut { path, len } => {
                    let bytes = disk.files.get_mut(path).ok_or_else(missing)?;
                    bytes.truncate(usize::try_from(len).expect("it is short"));
                }
            }
            Ok(())
        })
    }

    fn file_len(&self, _: &str, path: &str) -> io::Result<u64> {
        self.disk().files.get(path).map(|bytes| bytes.len() as u64).ok_or_else(missing)
    }

    fn append_log(&self) -> Option<&dyn AppendLog> {
        Some(self)
    }

    fn is_gone(&self, _: u64) -> bool {
        false
    }

    fn connect(&self, _: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected> {
        Err(NotConnected::Unreachable)
    }
}

impl DiskFiles for FakeHost {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.read_file("", path)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_file("", path, bytes)
    }

    fn change(&self, change: FileChange<'_>) -> io::Result<()> {
        self.change_file("", change)
    }

    fn len(&self, path: &str) -> io::Result<u64> {
        self.file_len("", path)
    }
}

impl AppendLog for FakeHost {
    fn open(&self, _: &str, path: &str, is_new: bool) -> io::Result<()> {
        self.disk().operate(format!("open {path}"), |disk| {
            let file = disk.files.entry(path.to_owned()).or_default();
            if is_new {
                file.clear();
            }
            disk.open = Some(path.to_owned());
            Ok(())
        })
    }

    fn append(&self, bytes: &[u8]) {
        let mut disk = self.disk();
        disk.appended += bytes.len() as u64;
        let Some(open) = disk.open.clone() else { return };
        // A file that was removed while it is open is lost with the process.
        if let Some(file) = disk.files.get_mut(&open) {
            file.extend_from_slice(bytes);
        }
    }

    fn set_sync(&self, _: LogSync) {}

    fn set_flush_delay(&self, _: u64) {}

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(&self) {
        self.disk().open = None;
    }

    fn pending(&self) -> usize {
        0
    }

    fn synced(&self) -> u64 {
        self.disk().appended
    }

    fn announce_syncs(&self, _: u64) {}
}

/// A server on a host, with a client.
struct Server {
    engine: Engine,
    slot: Slot,
    ms: u64,
}

impl Server {
    fn start(host: &FakeHost) -> Result<Server, String> {
        let mut config = Config::default();
        config.append_only.enabled = true;
        config.enable_debug_command = Permission::Yes;
        let mut engine = Engine::new(config, 7, Now::default());
        engine.set_host(Arc::new(host.clone()));
        engine.begin(Now::default());
        load(&mut engine)?;
        let slot = engine.connect(Peer::default());
        Ok(Server { engine, slot, ms: 0 })
    }

    fn ask(&mut self, line: &str) -> String {
        let argv: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        String::from_utf8_lossy(&self.run(&argv)).trim_end().to_owned()
    }

    /// Runs a request as a batch of its own, and returns its reply.
    fn run(&mut self, argv: &[&[u8]]) -> Vec<u8> {
        self.engine.execute(self.slot, argv);
        let mut out = Outbox::default();
        self.engine.take_output(self.slot, &mut out);
        while !matches!(self.engine.poll_output(), Output::Idle { .. }) {}
        out.bytes().to_vec()
    }

    /// Lets background work go on until there is none.
    fn settle(&mut self) {
        for _ in 0..20 {
            self.ms += 1;
            self.engine.begin(Now { wall_us: 0, monotonic_us: self.ms * 1000 });
        }
    }

    /// Lets time pass.
    fn pass(&mut self, ms: u64) {
        self.ms += ms;
        self.settle();
    }

    /// Ends a write in the background that was held.
    fn end_write(&mut self, host: &FakeHost, (path, bytes, serial): (String, Vec<u8>, u64)) {
        let result = host.write_file("", &path, &bytes);
        self.engine.disk_event(DiskEvent::Saved { serial, result });
    }

    /// Does the end of a rewrite that was held, and tells the engine.
    fn end_work(&mut self, host: &FakeHost) {
        let (work, number) =
            host.disk().held_work.take().expect("work is held").pop().expect("there is work");
        let done = work.run(host);
        self.engine.disk_event(DiskEvent::Worked { number, done });
    }

    fn field(&mut self, name: &str) -> String {
        let info = self.ask("INFO persistence");
        let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.unwrap_or_else(|| panic!("{name}: {info}")).to_owned()
    }
}

/// An engine that is loaded without pauses.
struct Unshared<'e>(&'e mut Engine);

impl LoadAccess for Unshared<'_> {
    fn with<T>(&mut self, work: impl FnOnce(&mut Engine) -> T) -> Result<T, LoadError> {
        Ok(work(self.0))
    }

    fn pause(&mut self, _: u64) {}
}

/// Loads the data of the start.
fn load(engine: &mut Engine) -> Result<(), String> {
    let load = DataLoad::begin(engine, None, true)?;
    match load.run(&mut Unshared(engine)) {
        Err(LoadError::Failed(why)) => Err(why),
        Ok(()) | Err(LoadError::Ended) => load.finish(engine),
    }
}

/// The number of writes of a scenario.
const WRITES: usize = 8;

/// Writes, and rewrites the file twice meanwhile. `see` is called after each write.
fn write_and_rewrite(server: &mut Server, mut see: impl FnMut(usize)) {
    for number in 0..WRITES {
        assert_eq!(server.ask(&format!("RPUSH l {number}")), format!(":{}", number + 1));
        see(number + 1);
        if number == 2 || number == 5 {
            server.ask("BGREWRITEAOF");
            see(number + 1);
        }
        if number == 3 {
            server.settle();
        }
    }
    server.settle();
}

/// Returns the length of the list after a start with these files.
fn length_after_start(files: BTreeMap<String, Vec<u8>>) -> usize {
    let mut server = Server::start(&FakeHost::with(files)).expect("the files are right");
    server.ask("LLEN l").trim_start_matches(':').parse().expect("a number")
}

#[test]
fn whichever_operation_fails_the_next_start_has_all_writes() {
    let host = FakeHost::default();
    write_and_rewrite(&mut Server::start(&host).expect("it starts"), |_| ());
    let operations = host.disk().operations.clone();
    assert!(
        operations.iter().filter(|operation| operation.starts_with("Rename")).count() == 2,
        "{operations:#?}"
    );
    let both = operations.iter().enumerate().flat_map(|failing| [(failing, false), (failing, true)]);
    for ((failing, operation), fails_late) in both {
        let host = FakeHost::default();
        (host.disk().failing, host.disk().fails_late) = (Some(failing), fails_late);
        let Ok(mut server) = Server::start(&host) else { continue };
        write_and_rewrite(&mut server, |_| ());
        let files = host.disk().files.clone();
        assert_eq!(length_after_start(files), WRITES, "{operation}, late: {fails_late}");
        // The next rewrite works.
        assert_eq!(server.ask("BGREWRITEAOF"), "+Background append only file rewriting started");
        server.settle();
        assert_eq!(server.field("aof_last_bgrewrite_status"), "ok", "{operation}");
        let files = host.disk().files.clone();
        assert_eq!(length_after_start(files), WRITES, "{operation}");
    }
}

#[test]
fn after_whichever_operation_the_process_ends_the_next_start_has_all_writes() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    let begun = host.disk().operations.len();
    // The number of operations after each write.
    let mut written = Vec::new();
    write_and_rewrite(&mut server, |count| written.push((host.disk().operations.len(), count)));
    let states = host.disk().states.clone();
    for (number, files) in states.into_iter().enumerate().skip(begun) {
        let least =
            written.iter().filter(|(operations, _)| *operations <= number).map(|(_, count)| *count).max();
        let length = length_after_start(files);
        assert!(length >= least.unwrap_or(0), "{length} of {least:?} after operation {number}");
    }
}

#[test]
fn a_failed_first_rewrite_is_tried_again() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    assert_eq!(server.ask("CONFIG SET appendonly no"), "+OK");
    assert_eq!(server.ask("SET a 1"), "+OK");
    // The rename of the base fails: directory, increment, base, rename.
    let next = host.disk().operations.len();
    host.disk().failing = Some(next + 3);
    assert_eq!(server.ask("CONFIG SET appendonly yes"), "+OK");
    assert_eq!(server.ask("SET b 1"), "+OK");
    server.settle();
    assert_eq!(server.field("aof_enabled"), "1");
    assert_eq!(server.field("aof_last_bgrewrite_status"), "ok", "{:#?}", host.disk().operations);
    let mut again = Server::start(&FakeHost::with(host.disk().files.clone())).expect("the files are right");
    assert_eq!(again.ask("DBSIZE"), ":2");
}

#[test]
fn a_file_that_cannot_be_switched_on_stays_off() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    assert_eq!(server.ask("CONFIG SET appendonly no"), "+OK");
    let next = host.disk().operations.len();
    host.disk().failing = Some(next + 1);
    assert_eq!(
        server.ask("CONFIG SET appendonly yes"),
        "-ERR CONFIG SET failed (possibly related to argument 'appendonly') - Unable to turn on AOF. Check server logs."
    );
    assert_eq!(server.field("aof_enabled"), "0");
    assert_eq!(server.ask("CONFIG GET appendonly"), "*2\r\n$10\r\nappendonly\r\n$2\r\nno");
}

#[test]
fn writes_are_refused_while_the_file_cannot_be_written() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    server.engine.disk_event(DiskEvent::LogWritten(Err(io::Error::from_raw_os_error(28))));
    let refused = "-MISCONF Errors writing to the AOF file: No space left on device";
    for line in ["SET a 1", "PING", "DEL a"] {
        assert_eq!(server.ask(line), refused, "{line}");
    }
    assert_eq!(server.ask("GET a"), "$-1");
    assert_eq!(server.field("aof_last_write_status"), "err");
    server.engine.disk_event(DiskEvent::LogWritten(Ok(())));
    assert_eq!(server.ask("SET a 1"), "+OK");
    assert_eq!(server.field("aof_last_write_status"), "ok");
}

#[test]
fn a_delay_of_rewrites_that_passes_while_none_is_due_is_over() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    host.disk().failing_kind = Some("Rename");
    assert_eq!(server.ask("CONFIG SET auto-aof-rewrite-min-size 0 auto-aof-rewrite-percentage 1"), "+OK");
    assert_eq!(server.ask("SET a 1"), "+OK");
    server.settle();
    assert_eq!(server.field("aof_rewrites_consecutive_failures"), "3", "then rewrites are delayed");
    assert_eq!(server.ask("CONFIG SET auto-aof-rewrite-percentage 0"), "+OK");
    server.pass(60_001);
    server.pass(60_001);
    host.disk().failing_kind = None;
    assert_eq!(server.ask("CONFIG SET auto-aof-rewrite-percentage 1"), "+OK");
    assert_eq!(server.ask("SET b 1"), "+OK");
    server.settle();
    assert_eq!(server.field("aof_last_bgrewrite_status"), "ok");
    assert_eq!(server.field("aof_rewrites_consecutive_failures"), "0");
}

#[test]
fn the_base_of_a_rewrite_that_was_given_up_is_never_taken() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    assert_eq!(server.ask("SET v old"), "+OK");
    host.disk().held = Some(Vec::new());
    assert_eq!(server.ask("BGREWRITEAOF"), "+Background append only file rewriting started");
    assert_eq!(server.ask("CONFIG SET appendonly no"), "+OK");
    assert_eq!(server.ask("SET v new"), "+OK");
    assert_eq!(server.ask("CONFIG SET appendonly yes"), "+OK");
    let held = host.disk().held.take().expect("writes are held");
    let [old, new] = <[_; 2]>::try_from(held).expect("there are two");
    server.end_write(&host, new.clone());
    server.end_write(&host, old.clone());
    server.settle();
    assert_eq!(server.field("aof_last_bgrewrite_status"), "ok");
    assert!(old.0 != new.0 && !host.disk().files.contains_key(&old.0), "{:?}", host.disk().files.keys());
    let mut again = Server::start(&FakeHost::with(host.disk().files.clone())).expect("the files are right");
    assert_eq!(again.ask("GET v"), "$3\r\nnew");
}

#[test]
fn a_file_that_cannot_begin_anew_is_tried_again() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    host.disk().failing_kind = Some("open");
    assert_eq!(server.ask("CONTROL.RESET"), "+OK");
    assert_eq!(server.ask("SET a 1"), "+OK");
    assert_eq!(server.field("aof_enabled"), "1");
    assert_eq!(server.field("aof_last_bgrewrite_status"), "err");
    host.disk().failing_kind = None;
    server.pass(1000);
    assert_eq!(server.field("aof_last_bgrewrite_status"), "ok");
    assert_eq!(server.ask("SET b 1"), "+OK");
    let mut again = Server::start(&FakeHost::with(host.disk().files.clone())).expect("the files are right");
    assert_eq!(again.ask("DBSIZE"), ":2");
}

#[test]
fn files_that_are_older_than_the_data_are_not_read_again() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    assert_eq!(server.ask("CONFIG SET appendonly no"), "+OK");
    assert_eq!(server.ask("SET a 1"), "+OK");
    host.disk().held = Some(Vec::new());
    assert_eq!(server.ask("CONFIG SET appendonly yes"), "+OK");
    assert!(server.ask("DEBUG LOADAOF").starts_with("-ERR Error trying to load the AOF files"));
    assert_eq!(server.ask("GET a"), "$1\r\n1");
}

#[test]
fn a_value_in_the_file_has_a_form_of_redis_7_0() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    assert_eq!(server.ask("SADD s a b"), ":2");
    let reply = server.run(&[b"DUMP", b"s"]);
    let begin = reply.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let payload = reply[begin..reply.len() - 2].to_vec();
    server.run(&[b"RESTORE", b"t", b"0", &payload]);
    let has = |bytes: &[u8]| {
        host.disk().files.values().any(|file| file.windows(bytes.len()).any(|part| part == bytes))
    };
    assert!(has(b"RESTORE\r\n") && !has(&payload), "{:?}", host.disk().files);
    let mut again = Server::start(&FakeHost::with(host.disk().files.clone())).expect("the files are right");
    assert_eq!(again.ask("SCARD t"), ":2");
}

#[test]
fn what_is_set_together_with_the_file_is_undone_together() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    assert_eq!(server.ask("CONFIG SET appendonly no"), "+OK");
    host.disk().failing_kind = Some("open");
    assert!(server.ask("CONFIG SET maxclients 77 appendonly yes").starts_with("-ERR CONFIG SET failed"));
    assert_eq!(host.disk().limits, [77, Config::default().maxclients]);
    assert!(server.ask("CONFIG GET maxclients").ends_with(&Config::default().maxclients.to_string()));
}

/// Returns the keys after a start with the files of a host.
fn keys_after_start(host: &FakeHost) -> String {
    let mut again = Server::start(&FakeHost::with(host.disk().files.clone())).expect("the files are right");
    again.ask("MGET a b c").replace("\r\n", " ")
}

#[test]
fn clients_are_served_while_the_host_ends_a_rewrite() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    assert_eq!(server.ask("SET a 1"), "+OK");
    host.disk().held_work = Some(Vec::new());
    assert_eq!(server.ask("BGREWRITEAOF"), "+Background append only file rewriting started");
    server.settle();
    assert_eq!(server.ask("SET b 1"), "+OK");
    assert_eq!(server.field("aof_rewrite_in_progress"), "1");
    let refused = "-ERR Background append only file rewriting already in progress";
    assert_eq!(server.ask("BGREWRITEAOF"), refused);
    assert!(server.ask("BGSAVE").starts_with("-ERR Another child process is active (AOF?)"));
    assert!(server.ask("DEBUG LOADAOF").starts_with("-ERR Error trying to load the AOF files"));
    assert_eq!(keys_after_start(&host), "*3 $1 1 $1 1 $-1", "before the end");
    server.end_work(&host);
    assert_eq!(server.ask("SET c 1"), "+OK");
    assert_eq!(server.field("aof_rewrite_in_progress"), "0");
    assert_eq!(server.field("aof_last_bgrewrite_status"), "ok");
    assert_eq!(keys_after_start(&host), "*3 $1 1 $1 1 $1 1", "after the end");
    assert_eq!(server.ask("DEBUG LOADAOF"), "+OK");
    assert_eq!(server.ask("BGREWRITEAOF"), "+Background append only file rewriting started");
    server.settle();
    assert_eq!(keys_after_start(&host), "*3 $1 1 $1 1 $1 1", "after the next one");
}

#[test]
fn a_file_that_is_switched_off_and_on_while_the_host_ends_a_rewrite_begins_afterwards() {
    for (begins_off, fails) in [(false, false), (false, true), (true, false), (true, true)] {
        let host = FakeHost::default();
        let mut server = Server::start(&host).expect("it starts");
        let step = |server: &mut Server, line: &str| assert_eq!(server.ask(line), "+OK", "{line}");
        step(&mut server, "SET a 1");
        if begins_off {
            step(&mut server, "CONFIG SET appendonly no");
        }
        host.disk().held_work = Some(Vec::new());
        match begins_off {
            true => step(&mut server, "CONFIG SET appendonly yes"),
            false => assert!(server.ask("BGREWRITEAOF").starts_with('+')),
        }
        server.settle();
        step(&mut server, "SET b 1");
        step(&mut server, "CONFIG SET appendonly no");
        assert_eq!(server.field("aof_rewrite_in_progress"), "0");
        step(&mut server, "CONFIG SET appendonly yes");
        step(&mut server, "SET c 1");
        server.settle();
        assert_eq!(server.field("aof_rewrite_scheduled"), "1", "it waits for the host");
        host.disk().failing_kind = fails.then_some("Rename");
        server.end_work(&host);
        host.disk().failing_kind = None;
        server.settle();
        assert_eq!(server.field("aof_rewrite_scheduled"), "0");
        assert_eq!(server.field("aof_last_bgrewrite_status"), "ok");
        assert_eq!(keys_after_start(&host), "*3 $1 1 $1 1 $1 1", "{begins_off}, {fails}");
    }
}

#[test]
fn a_reset_while_the_host_ends_a_rewrite_begins_the_file_anew() {
    let host = FakeHost::default();
    let mut server = Server::start(&host).expect("it starts");
    assert_eq!(server.ask("SET a 1"), "+OK");
    host.disk().held_work = Some(Vec::new());
    assert!(server.ask("BGREWRITEAOF").starts_with('+'));
    server.settle();
    assert_eq!(server.ask("CONTROL.RESET"), "+OK");
    assert_eq!(server.ask("SET b 1"), "+OK");
    server.end_work(&host);
    server.settle();
    assert_eq!(server.field("aof_last_bgrewrite_status"), "ok");
    assert_eq!(keys_after_start(&host), "*3 $-1 $1 1 $-1");
}

#[test]
fn a_failed_end_of_a_rewrite_leaves_the_files_before() {
    for kind in ["Rename", "write appendonlydir/appendonly.aof.manifest"] {
        let host = FakeHost::default();
        let mut server = Server::start(&host).expect("it starts");
        assert_eq!(server.ask("SET a 1"), "+OK");
        host.disk().held_work = Some(Vec::new());
        assert!(server.ask("BGREWRITEAOF").starts_with('+'));
        server.settle();
        assert_eq!(server.ask("SET b 1"), "+OK");
        host.disk().failing_kind = Some(kind);
        server.end_work(&host);
        host.disk().failing_kind = None;
        assert_eq!(server.field("aof_last_bgrewrite_status"), "err", "{kind}");
        assert_eq!(server.ask("SET c 1"), "+OK");
        assert_eq!(keys_after_start(&host), "*3 $1 1 $1 1 $1 1", "{kind}");
    }
}
