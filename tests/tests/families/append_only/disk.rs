//! The program on a disk that a test controls: the power fails, the disk is full, or it takes its time.

use super::kills::{Acknowledged, number, write};
use super::{Directory, Kept, ask, await_rewrite, info};
use lockwheel_tests::client::Client;
use lockwheel_tests::program;
use lockwheel_tests::redis_server::{find_in_path, skip};
use lockwheel_tests::rng::{Rng, seeds};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread;

const SOURCE: &str = include_str!("disk.c");

/// Returns the library of the disk. `None`: there is no compiler.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    LIBRARY.get_or_init(compile).as_deref()
}

fn compile() -> Option<PathBuf> {
    let Some(compiler) = find_in_path("cc") else {
        skip(&["cc"], "cc is not installed (apt-get install gcc)");
        return None;
    };
    let directory = std::env::temp_dir().join(format!("lockwheel-disk-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("it can be made");
    let (source, library) = (directory.join("disk.c"), directory.join("disk.so"));
    fs::write(&source, SOURCE).expect("it can be written");
    let mut compile = Command::new(compiler);
    compile.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
    assert!(compile.status().expect("it starts").success(), "the disk does not compile");
    Some(library)
}

/// A disk, with the directory of a program on it.
struct Disk {
    library: &'static Path,
    state: Directory,
    directory: Directory,
}

impl Disk {
    fn new() -> Option<Disk> {
        Some(Disk { library: library()?, state: Directory::new(), directory: Directory::new() })
    }

    /// Starts the program.
    fn start(&self, options: &[&str]) -> Kept {
        let state = fs::canonicalize(&self.state.0).expect("it is there");
        let on_disk = |command: &mut Command| {
            command.env("LD_PRELOAD", self.library).env("DISK", &state);
        };
        Kept::try_start_with(&program::path(), &self.directory, options, &on_disk)
            .unwrap_or_else(|not_started| panic!("not started: {:#?}", not_started.log))
    }

    fn state_file(&self, name: &str) -> PathBuf {
        self.state.0.join(name)
    }

    /// Sets whether the disk is in a state that one of its files names.
    fn set(&self, name: &str, is_set: bool) {
        match is_set {
            true => fs::write(self.state_file(name), "").expect("it can be written"),
            false => fs::remove_file(self.state_file(name)).expect("it is there"),
        }
    }

    /// Returns the number of syncs of files that requests are appended to.
    fn syncs(&self) -> usize {
        fs::read(self.state_file("syncs")).map_or(0, |syncs| syncs.len())
    }

    /// Leaves of the files what a power failure would. No program may be running.
    fn cut_power(&self) {
        let files = self.directory.0.join("appendonlydir");
        let inode = fs::metadata(&files).expect("it is there").ino();
        let names = fs::read_to_string(self.state_file(&format!("names-{inode}"))).expect("it was synced");
        for entry in fs::read_dir(&files).expect("it is there") {
            fs::remove_file(entry.expect("it is there").path()).expect("it can be removed");
        }
        let mut of_disk = Vec::new();
        for line in names.lines() {
            let (inode, name) = line.split_once(' ').expect("two words");
            let bytes = fs::read(self.state_file(&format!("inode-{inode}"))).unwrap_or_default();
            of_disk.push((files.join(name), bytes));
        }
        // The next program has a disk of its own.
        fs::remove_dir_all(&self.state.0).expect("it is there");
        fs::create_dir(&self.state.0).expect("it can be made");
        of_disk.into_iter().for_each(|(path, bytes)| fs::write(path, bytes).expect("it can be written"));
        self.keep_all(&files);
    }

    /// Records that the disk has the files as they are.
    fn keep_all(&self, files: &Path) {
        let mut names = String::new();
        for entry in fs::read_dir(files).expect("it is there") {
            let path = entry.expect("it is there").path();
            let inode = fs::metadata(&path).expect("it is there").ino();
            fs::copy(&path, self.state_file(&format!("inode-{inode}"))).expect("it can be copied");
            fs::hard_link(&path, self.state_file(&format!("held-{inode}"))).expect("it is a file");
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            names.push_str(&format!("{inode} {name}\n"));
        }
        let inode = fs::metadata(files).expect("it is there").ino();
        fs::write(self.state_file(&format!("names-{inode}")), names).expect("it can be written");
    }
}

/// Lets clients write, with rewrites meanwhile, until so many more writes are acknowledged, and kills the program.
fn write_and_kill(kept: Kept, rng: &mut Rng, acknowledged: &Acknowledged) {
    let sum = || acknowledged.iter().map(|last| last.load(Ordering::SeqCst)).sum::<u64>();
    let until = sum() + 1 + rng.below(150) as u64;
    let mut client = kept.client();
    thread::scope(|scope| {
        for (writer, last) in acknowledged.iter().enumerate() {
            let client = kept.client();
            scope.spawn(move || write(client, writer, last));
        }
        while sum() < until {
            if rng.below(20) == 0 {
                ask(&mut client, "BGREWRITEAOF");
            }
            thread::yield_now();
        }
        kept.kill();
    });
}

/// Returns the number of the last write of a writer that is there: of a transaction of two keys.
fn last_write(client: &mut Client, writer: usize) -> u64 {
    let [a, b] = ["a", "b"].map(|key| number(client, &format!("{key}{writer}")));
    assert_eq!(a, b, "half of a transaction is there");
    a
}

#[test]
fn no_acknowledged_write_is_lost_by_a_power_failure_if_each_is_synced() {
    let Some(disk) = Disk::new() else { return };
    for seed in seeds(1) {
        let mut rng = Rng::new(seed);
        let acknowledged = Acknowledged::default();
        for round in 0..6 {
            let preamble = if round % 2 == 0 { "yes" } else { "no" };
            let options = ["--appendfsync", "always", "--threads", "2", "--aof-use-rdb-preamble", preamble];
            let kept = disk.start(&options);
            let mut client = kept.client();
            for (writer, last) in acknowledged.iter().enumerate() {
                let (there, last_number) = (last_write(&mut client, writer), last.load(Ordering::SeqCst));
                assert!(there >= last_number, "{there} after {last_number} in round {round}");
                last.store(there, Ordering::SeqCst);
            }
            write_and_kill(kept, &mut rng, &acknowledged);
            disk.cut_power();
        }
    }
}

#[test]
fn what_waitaof_has_confirmed_survives_a_power_failure() {
    let Some(disk) = Disk::new() else { return };
    for seed in seeds(1) {
        let mut rng = Rng::new(seed);
        for round in 0..3 {
            let kept = disk.start(&["--appendfsync", "everysec"]);
            let mut client = kept.client();
            let acknowledged = Acknowledged::default();
            for (writer, last) in acknowledged.iter().enumerate() {
                last.store(last_write(&mut client, writer), Ordering::SeqCst);
            }
            assert_eq!(ask(&mut client, &format!("SET confirmed {round}")), "+OK");
            assert_eq!(ask(&mut client, "WAITAOF 1 0 0"), "[:1, :0]");
            write_and_kill(kept, &mut rng, &acknowledged);
            disk.cut_power();
            let kept = disk.start(&["--appendfsync", "everysec"]);
            assert_eq!(number(&mut kept.client(), "confirmed"), round, "round {round}");
            kept.kill();
        }
    }
}

#[test]
fn each_second_the_file_is_synced_without_any_request() {
    let Some(disk) = Disk::new() else { return };
    let kept = disk.start(&["--appendfsync", "everysec"]);
    let before = disk.syncs();
    assert_eq!(ask(&mut kept.client(), "SET k v"), "+OK");
    while disk.syncs() == before {
        thread::yield_now();
    }
    kept.kill();
    disk.cut_power();
    let kept = disk.start(&["--appendfsync", "everysec"]);
    assert_eq!(ask(&mut kept.client(), "GET k"), "\"v\"");
}

#[test]
fn a_save_may_suspend_syncs() {
    let Some(disk) = Disk::new() else { return };
    for (parameter, is_suspended) in [("yes", true), ("no", false)] {
        let options = ["--appendfsync", "always", "--no-appendfsync-on-rewrite", parameter];
        let kept = disk.start(&options);
        let mut client = kept.client();
        assert_eq!(ask(&mut client, "DEBUG POPULATE 1000"), "+OK");
        assert_eq!(ask(&mut client, "CONFIG SET rdb-key-save-delay 1000000"), "+OK");
        assert_eq!(ask(&mut client, "BGSAVE"), "+Background saving started");
        let before = disk.syncs();
        assert_eq!(ask(&mut client, "SET a 1"), "+OK");
        assert_eq!(disk.syncs() == before, is_suspended, "{parameter}");
        assert_eq!(ask(&mut client, "CONFIG SET rdb-key-save-delay 0"), "+OK");
        while info(&mut client, "rdb_bgsave_in_progress") == "1" {}
        let before = disk.syncs();
        assert_eq!(ask(&mut client, "SET a 2"), "+OK");
        assert!(disk.syncs() > before, "{parameter}");
    }
}

#[test]
fn writes_go_on_once_a_full_disk_has_room_again() {
    let Some(disk) = Disk::new() else { return };
    let kept = disk.start(&["--appendfsync", "everysec"]);
    let mut client = kept.client();
    assert_eq!(ask(&mut client, "SET before 1"), "+OK");
    disk.set("full", true);
    // As in Redis, the first write is acknowledged: only the next ones are refused.
    let refused = "-MISCONF Errors writing to the AOF file: No space left on device";
    let mut written = 0;
    while ask(&mut client, &format!("SET full:{written} 1")) != refused {
        written += 1;
    }
    assert_eq!(ask(&mut client, "GET before"), "\"1\"");
    assert_eq!(info(&mut client, "aof_last_write_status"), "err");
    disk.set("full", false);
    while ask(&mut client, "SET after 1") == refused {}
    assert_eq!(info(&mut client, "aof_last_write_status"), "ok");
    kept.kill();
    let kept = disk.start(&[]);
    assert_eq!(ask(&mut kept.client(), "DBSIZE"), format!(":{}", written + 2));
}

#[test]
fn a_server_that_syncs_each_write_ends_if_the_disk_is_full() {
    let Some(disk) = Disk::new() else { return };
    let mut kept = disk.start(&["--appendfsync", "always"]);
    let mut client = kept.client();
    assert_eq!(ask(&mut client, "SET before 1"), "+OK");
    disk.set("full", true);
    client.send(&["SET", "after", "1"]);
    assert_eq!(kept.child.wait().expect("it is a child").code(), Some(1));
    let log = kept.rest_of_log();
    let line = "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...";
    assert!(log.iter().any(|log| log.ends_with(line)), "{log:#?}");
    disk.set("full", false);
    let kept = disk.start(&["--appendfsync", "always"]);
    assert_eq!(ask(&mut kept.client(), "MGET before after"), "[\"1\", (nil)]");
}

#[test]
fn clients_are_served_while_the_disk_ends_a_rewrite() {
    let Some(disk) = Disk::new() else { return };
    let kept = disk.start(&["--appendfsync", "always"]);
    let mut client = kept.client();
    assert_eq!(ask(&mut client, "SET a 1"), "+OK");
    disk.set("wait", true);
    assert_eq!(ask(&mut client, "BGREWRITEAOF"), "+Background append only file rewriting started");
    for n in 0..100 {
        assert_eq!(ask(&mut client, &format!("SET k{n} 1")), "+OK");
        assert_eq!(info(&mut client, "aof_rewrite_in_progress"), "1");
    }
    disk.set("wait", false);
    await_rewrite(&mut client);
    assert_eq!(info(&mut client, "aof_last_bgrewrite_status"), "ok");
    kept.kill();
    disk.cut_power();
    let kept = disk.start(&[]);
    assert_eq!(ask(&mut kept.client(), "DBSIZE"), ":101");
}
