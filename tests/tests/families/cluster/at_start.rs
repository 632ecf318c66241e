//! The file with which a node begins, and that it writes.

use crate::cluster::nodes::{OurCluster, file, fresh_directory, names, node_config, start_node};
use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::program;
use lockwheel_tests::redis_server::{Kind, RealServer, find_in_path, free_port};
use std::path::Path;
use std::process::Command;

#[test]
fn a_node_starts_with_the_file_that_redissons_tests_write() {
    let ids = names();
    let directory = fresh_directory();
    let mut config = node_config(0, &directory);
    config.cluster.config_file = "own.conf".to_owned();
    let text = format!(
        "{a} 127.0.0.1:7001 myself,master - 0 0 1 connected 0-5460\n{b} 127.0.0.1:7002 master - 0 1 2 connected \
         5461-10922\n{c} 127.0.0.1:7003 master - 0 1 3 connected 10923-16383\n\
         {d} 127.0.0.1:7004 slave {a} 0 1 1 connected\nvars currentEpoch 0 lastVoteEpoch 0\n",
        a = ids[0],
        b = ids[1],
        c = ids[2],
        d = "d".repeat(40)
    );
    std::fs::write(directory.join("own.conf"), text).unwrap();
    let server = start_node(config, "").expect("any port will do");
    let mut client = Client::connect(server.addr());
    let line = |client: &mut Client, line: &str| format!("{:?}", client.line(line));
    assert_eq!(line(&mut client, "GET foo"), "-MOVED 12182 127.0.0.1:7003");
    assert_eq!(line(&mut client, "GET {bar}"), "(nil)");
    let nodes = line(&mut client, "CLUSTER NODES");
    assert!(nodes.contains(&format!("{} 127.0.0.1:7004@17004 slave {} ", "d".repeat(40), ids[0])), "{nodes}");
    let written = std::fs::read_to_string(directory.join("own.conf")).unwrap();
    assert!(written.contains("vars currentEpoch 3 lastVoteEpoch 0\n"), "{written}");
    let _ = std::fs::remove_dir_all(directory);
}

#[test]
fn changes_of_the_cluster_survive_a_restart() {
    let cluster = OurCluster::start(&names());
    let ids = names();
    let mut client = Client::connect(cluster.addresses()[0]);
    assert!(!client.line(&format!("CLUSTER SETSLOT 7 MIGRATING {}", ids[1])).is_error());
    assert!(!client.line("CLUSTER BUMPEPOCH").is_error());
    let written = std::fs::read_to_string(cluster.directories[0].join("nodes.conf")).unwrap();
    let again = fresh_directory();
    let server = start_node(node_config(0, &again), &written).expect("any port will do");
    let nodes = format!("{:?}", Client::connect(server.addr()).line("CLUSTER NODES"));
    assert!(nodes.contains(&format!("myself,master - 0 0 4 connected 0-5460 [7->-{}]", ids[1])), "{nodes}");
    let _ = std::fs::remove_dir_all(again);
}

#[test]
fn a_broken_file_is_refused_with_its_line() {
    let directory = fresh_directory();
    let text = file(&names(), &[1, 2, 3], 0) + "nonsense\n";
    std::fs::write(directory.join("nodes.conf"), text).unwrap();
    let refused = Server::builder().config(node_config(0, &directory)).start();
    let Err(why) = refused else { panic!("it is refused") };
    assert_eq!(
        why.to_string(),
        "Unrecoverable error: corrupted cluster config file. Line 5 of nodes.conf: nonsense"
    );
    let _ = std::fs::remove_dir_all(directory);
}

/// The reason why the program does not start as a node in a directory: the words of Redis, without process id and time.
fn refusal(program: &Path, directory: &Path, file: &str) -> String {
    let options = ["--port", "0", "--unixsocket", "other.sock", "--save", "", "--cluster-enabled", "yes"];
    let mut command = Command::new(program);
    command.args(options).arg("--dir").arg(directory).args(["--cluster-config-file", file]);
    let output = command.output().expect("it starts");
    assert!(!output.status.success());
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let found = text.lines().find_map(|line| {
        let at = line.find("Sorry, ").or_else(|| line.find("Can't open "))?;
        Some(line[at..].to_owned())
    });
    found.unwrap_or_else(|| panic!("no reason: {text}"))
}

#[test]
fn a_node_cannot_use_the_file_of_a_running_node() {
    let cluster = OurCluster::start(&names());
    let directory = &cluster.directories[0];
    let used = "Sorry, the cluster configuration file nodes.conf is already used by a different Redis Cluster node. \
                Please make sure that different nodes use different cluster configuration files.";
    let nowhere = "Can't open /nowhere/nodes.conf in order to acquire a lock: No such file or directory";
    let refused = |directory: &Path, file: &str| {
        let mut config = node_config(0, directory);
        config.cluster.config_file = file.to_owned();
        Server::builder().config(config).start().map(drop).map_err(|why| why.to_string())
    };
    assert_eq!(refused(directory, "nodes.conf"), Err(used.to_owned()));
    // Each change replaces the file by a new one.
    let mut client = Client::connect(cluster.addresses()[0]);
    assert!(!client.line("CLUSTER BUMPEPOCH").is_error());
    assert_eq!(refused(directory, "nodes.conf"), Err(used.to_owned()));
    assert_eq!(refused(directory, "/nowhere/nodes.conf"), Err(nowhere.to_owned()));
    assert_eq!(refusal(&program::path(), directory, "nodes.conf"), used);
    let options = ["--cluster-enabled", "yes", "--cluster-port", &free_port().to_string()];
    if let Some(real) = RealServer::start(Kind::Redis, &options) {
        let mut client = Client::connect(real.addr());
        let told = client.line("CONFIG GET dir").to_string();
        let directory = told.split('"').nth(3).expect("a directory").to_owned();
        let redis = find_in_path("redis-server").expect("it runs");
        assert_eq!(refusal(&redis, Path::new(&directory), "nodes.conf"), used);
        assert_eq!(refusal(&redis, Path::new(&directory), "/nowhere/nodes.conf"), nowhere);
    }
}

#[test]
fn a_node_can_use_the_file_of_an_ended_node() {
    let directory = fresh_directory();
    let start = || start_node(node_config(0, &directory), "").expect("any port will do");
    let first = start();
    let handle = first.handle();
    let id = |server: &Server| Client::connect(server.addr()).line("CLUSTER MYID").to_string();
    let own = id(&first);
    drop(first);
    assert_eq!(id(&start()), own);
    drop(handle);
    let _ = std::fs::remove_dir_all(directory);
}
