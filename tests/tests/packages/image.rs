//! The container images. Their files are checked against the formats of Docker and the OCI, and their root file systems
//! are tried with `chroot`, which needs no daemon. The image's own commands run, on the loopback addresses alone.

use crate::{is_named, package, packaging, project, run};
use lockwheel_tests::program;
use lockwheel_tests::redis_server::{find_in_path, skip};
use serde_json::Value;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder with both images, packed once for all tests. `None` if they cannot be packed.
fn images() -> Option<&'static Path> {
    if find_in_path("python3").is_none() || find_in_path("busybox").is_none() {
        skip(
            &["python3", "busybox"],
            "python3 or busybox is not installed (apt-get install python3 busybox-static)",
        );
        return None;
    }
    static PACKED: OnceLock<PathBuf> = OnceLock::new();
    Some(PACKED.get_or_init(|| package("image")))
}

fn json(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn strings(value: &Value) -> Vec<String> {
    let values = value.as_array().unwrap_or_else(|| panic!("no array: {value}"));
    values.iter().map(|value| value.as_str().expect("a text").to_owned()).collect()
}

fn sha256(path: &Path) -> String {
    let said = run(Command::new("sha256sum").arg(path));
    format!("sha256:{}", said.split(' ').next().expect("the sum comes first"))
}

fn unpack(archive: &Path, directory: &Path) {
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--preserve-permissions", "--numeric-owner", "--file"]).arg(archive);
    run(tar.arg("--directory").arg(directory));
}

/// One image, unpacked.
struct Image {
    /// The folder that `docker load` receives.
    layout: PathBuf,
    /// The file system that its layers produce.
    root: PathBuf,
    /// The command of its containers, and their settings.
    config: Value,
}

impl Image {
    /// Unpacks the image of this variant into a project, and checks its digests.
    fn open(folder: &Path, variant: &str, project_name: &str) -> Image {
        let directory = project(project_name);
        let (layout, root) = (directory.join("layout"), directory.join("root"));
        for path in [&layout, &root] {
            fs::create_dir(path).expect("the project is empty");
        }
        unpack(&folder.join(format!("lockwheel-{VERSION}{variant}-amd64.image.tar")), &layout);
        let manifest = json(&layout.join("manifest.json"))[0].clone();
        let config_path = layout.join(manifest["Config"].as_str().expect("a path"));
        let config = json(&config_path);
        let layers = strings(&manifest["Layers"]);
        let digests: Vec<String> = layers.iter().map(|layer| sha256(&layout.join(layer))).collect();
        assert_eq!(digests, strings(&config["rootfs"]["diff_ids"]));
        assert_eq!(config["history"].as_array().expect("a list").len(), layers.len());
        layers.iter().for_each(|layer| unpack(&layout.join(layer), &root));
        assert_eq!((&config["os"], &config["architecture"]), (&"linux".into(), &"amd64".into()));
        Image { layout, root, config: config["config"].clone() }
    }

    /// The paths of blobs to which a descriptor leads. Each must have the stated digest and size.
    fn blob(&self, descriptor: &Value) -> PathBuf {
        let digest = descriptor["digest"].as_str().expect("a digest");
        let path = self.layout.join("blobs").join(digest.replace(':', "/"));
        assert_eq!(sha256(&path), digest);
        assert_eq!(
            fs::metadata(&path).expect("it is there").len(),
            descriptor["size"].as_u64().expect("a size")
        );
        path
    }

    /// A command in the root file system, with the environment and the user that the image names.
    fn command(&self, words: &[String]) -> Command {
        let mut command;
        if run(Command::new("id").arg("-u")).trim() == "0" {
            command = Command::new("chroot");
            command.arg(format!("--userspec={}", self.config["User"].as_str().expect("a user")));
        } else {
            command = Command::new("unshare");
            command.args(["--map-root-user", "chroot"]);
        }
        command.arg(&self.root).args(words).env_clear().stdin(Stdio::null());
        for variable in strings(&self.config["Env"]) {
            let (name, value) = variable.split_once('=').expect("a name and a value");
            command.env(name, value);
        }
        command
    }

    /// The command of a container with these arguments, as `docker run IMAGE arguments` starts it. Without arguments,
    /// the image's own apply.
    fn entry(&self, arguments: &[&str]) -> Command {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        self.command(&[strings(&self.config["Entrypoint"]), arguments].concat())
    }

    /// A server that `docker run IMAGE arguments` starts, on a free port of the loopback address.
    fn serve(&self, arguments: &[&str]) -> Container {
        let own = strings(&self.config["Cmd"]);
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let arguments = if arguments.is_empty() { &own } else { arguments };
        let mut command = self.entry(arguments);
        command.args(["--bind", "127.0.0.1", "--port", "0"]).stdout(Stdio::piped());
        let mut child = command.spawn().expect("chroot starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let ready = program::ready_line(&mut out);
        let port = ready.trim_end().rsplit_once("Ready to accept connections tcp, port=");
        let port = port.unwrap_or_else(|| panic!("not ready: {ready}")).1.to_owned();
        Container { child, port }
    }

    /// The exit status and output of the health check for a server at this URL.
    fn health(&self, url: &str) -> (Option<i32>, String) {
        let test = strings(&self.config["Healthcheck"]["Test"]);
        assert_eq!(test[0], "CMD");
        let output = self.command(&test[1..]).env("REDIS_URL", url).output().expect("chroot starts");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    }
}

/// A running server. Dropping it kills the process.
struct Container {
    child: Child,
    port: String,
}

impl Container {
    /// Sends the signal that the image names, and waits.
    fn stop(&mut self, image: &Image) -> Option<i32> {
        let signal = image.config["StopSignal"].as_str().expect("a signal");
        let signal = format!("-{}", signal.strip_prefix("SIG").expect("a signal's name"));
        run(Command::new("kill").args([signal, self.child.id().to_string()]));
        self.child.wait().expect("it is our child").code()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // Errors mean that the server has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a root file system can be tried here.
fn can_change_root() -> bool {
    let asked = Command::new("unshare").args(["--map-root-user", "true"]).output();
    let can = run(Command::new("id").arg("-u")).trim() == "0" || asked.is_ok_and(|it| it.status.success());
    if !can {
        skip(
            &["chroot"],
            "neither root nor allowed to be it in a namespace: no root file system can be tried",
        );
    }
    can
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_images_are_complete_and_small() {
    let Some(folder) = images() else { return };
    for (variant, tags) in [("", ["0", "latest"]), ("-busybox", ["0-busybox", "busybox"])] {
        let tags = tags.map(|tag| format!("lockwheel:{}", tag.replacen('0', VERSION, 1)));
        let image = Image::open(folder, variant, &format!("image{variant}"));
        let docker = json(&image.layout.join("manifest.json"));
        assert_eq!(strings(&docker[0]["RepoTags"]), tags);
        assert_eq!(json(&image.layout.join("oci-layout"))["imageLayoutVersion"], "1.0.0");
        let index = json(&image.layout.join("index.json"));
        let described = index["manifests"].as_array().expect("a list");
        let named = |it: &Value| format!("lockwheel:{}", strings(&Value::Array(vec![it.clone()]))[0]);
        let names = described.iter().map(|it| named(&it["annotations"]["org.opencontainers.image.ref.name"]));
        assert!(names.eq(tags.clone()), "{index}");
        for descriptor in described {
            let manifest = json(&image.blob(descriptor));
            image.blob(&manifest["config"]);
            let layers = manifest["layers"].as_array().expect("a list").iter().map(|layer| image.blob(layer));
            let same = strings(&docker[0]["Layers"]).into_iter().map(|layer| image.layout.join(layer));
            assert!(layers.eq(same), "{manifest}");
        }
        assert_eq!(image.config["ExposedPorts"], serde_json::json!({"6379/tcp": {}}));
        let size = |path: &Path| fs::metadata(path).expect("it is there").len();
        let archive = size(&folder.join(format!("lockwheel-{VERSION}{variant}-amd64.image.tar")));
        let program = size(&image.root.join("usr/local/bin/lockwheel"));
        // The program of a test build is larger, and includes its libraries.
        assert!(archive - program < 6_000_000, "{variant}: {archive} with a program of {program}");
        let most = documented_size(tags[1].trim_start_matches("lockwheel:"));
        assert!(archive < most || !is_named("static"), "{variant}: {archive}, README says below {most}");
    }
}

/// The upper bound of an image's size in bytes, as README states it for a tag.
fn documented_size(tag: &str) -> u64 {
    let readme = fs::read_to_string(packaging().join("image/README.md")).expect("the file is there");
    let row = readme.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{tag}`")));
    let row = row.unwrap_or_else(|| panic!("README has no row for {tag}"));
    let (_, size) = row.split_once("below ").expect("the row has a bound");
    let (size, _) = size.split_once(" MB").expect("the bound is in MB");
    size.parse::<u64>().expect("the bound is a number") * 1_000_000
}

#[test]
fn the_same_program_makes_the_same_images() {
    let Some(folder) = images() else { return };
    let image = Image::open(folder, "", "image-again");
    let again = image.root.with_file_name("again");
    run(Command::new(packaging().join("build.d/image"))
        .arg(image.root.join("usr/local/bin/lockwheel"))
        .arg(&again));
    for variant in ["", "-busybox"] {
        let name = format!("lockwheel-{VERSION}{variant}-amd64.image.tar");
        assert_eq!(sha256(&folder.join(&name)), sha256(&again.join(&name)), "{name}");
    }
}

#[test]
fn a_container_from_scratch_serves_like_that_of_redis() {
    let Some(folder) = images() else { return };
    if !can_change_root() {
        return;
    }
    let image = Image::open(folder, "", "image-from-scratch");
    // Docker writes this file into every container.
    fs::write(image.root.join("etc/hosts"), "127.0.0.1 localhost\n").expect("it can be written");
    let mut container = image.serve(&[]);
    let ping = |more: &[&str], port: &str| {
        let arguments = [&["redis-cli", "-p", port][..], more, &["ping"]].concat();
        text(&image.entry(&arguments).output().expect("chroot starts"))
    };
    for host in ["127.0.0.1", "localhost"] {
        assert_eq!(ping(&["-h", host], &container.port), "PONG\n");
    }
    let url = format!("redis://127.0.0.1:{}", container.port);
    assert_eq!(image.health(&url), (Some(0), format!("The server at {} answers.\n", &url[8..])));
    assert_eq!(container.stop(&image), Some(0));
    assert_eq!(image.health(&url).0, Some(1));

    for arguments in [&["--requirepass", "pass"][..], &["redis-server", "--requirepass", "pass"]] {
        let mut container = image.serve(&[arguments, &["--port-file", "/data/port"]].concat());
        assert_eq!(
            fs::read_to_string(image.root.join("data/port")).expect("it is written").trim(),
            container.port
        );
        assert_eq!(ping(&["-a", "pass"], &container.port), "PONG\n");
        assert_eq!(ping(&[], &container.port).trim(), "NOAUTH Authentication required.");
        let at = format!("127.0.0.1:{}", container.port);
        let asks = format!("The server at {at} answers, and asks for a password.\n");
        assert_eq!(image.health(&format!("redis://{at}")), (Some(0), asks));
        assert_eq!(image.health(&format!("redis://:pass@{at}")).0, Some(0));
        assert_eq!(image.health(&format!("redis://:no@{at}")).0, Some(1));
        assert_eq!(container.stop(&image), Some(0));
    }
    let output = image.entry(&["sh"]).output().expect("chroot starts");
    assert_eq!(output.status.code(), Some(127), "it has no shell: {output:?}");
}

#[test]
fn a_container_with_busybox_has_a_shell_too() {
    let Some(folder) = images() else { return };
    if !can_change_root() {
        return;
    }
    let image = Image::open(folder, "-busybox", "image-with-busybox");
    let container = image.serve(&["redis-server"]);
    let script = "redis-cli -p $0 ping | tr A-Z a-z; redis-server --version | cut -c 1-12; ls -d /data /tmp";
    let output = image.entry(&["sh", "-c", script, &container.port]).output().expect("chroot starts");
    assert_eq!(text(&output), "pong\nRedis server\n/data\n/tmp\n", "{output:?}");
    let licence = image.root.join("usr/share/doc/busybox-static/copyright");
    assert!(fs::read_to_string(licence).expect("it is there").contains("GPL"));
}
