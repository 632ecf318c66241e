//! Encoding of the present data as a file.

use super::append_only::RequestBase;
use super::rdb_file::{FileRules, RdbFile};
use crate::config::{Config, MaxmemoryPolicy};
use crate::propagation::Annotation;
use crate::spec::REDIS_VERSION;
use lockwheel_store::keyspace::{KeyWriter, Keyspace, Measure};

/// The name of the fact that no grant of a lock has exceeded this number. Redis skips it.
pub(crate) const LAST_GRANT: &str = "lockwheel-last-grant";

/// The part of the data that goes into a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Content {
    /// Libraries of functions and keys.
    #[default]
    All,
    /// Libraries of functions.
    Functions,
    /// Neither.
    Nothing,
}

/// The data of a server, and the facts about it that its file states.
pub(crate) struct DataFile<'e> {
    /// The keys.
    pub(crate) keyspace: &'e Keyspace,
    /// The code of the libraries of functions.
    pub(crate) libraries: Vec<&'e [u8]>,
    /// The configuration in force.
    pub(crate) config: &'e Config,
    /// The present instant, in seconds on the wall clock.
    pub(crate) created_s: i64,
    /// The memory that the server uses, in bytes.
    pub(crate) used_bytes: usize,
    /// A number that no grant of a lock has exceeded. 0: there was none.
    pub(crate) last_grant: u64,
}

impl DataFile<'_> {
    /// Returns a file with this content. O(data).
    pub(crate) fn write(&self, content: Content) -> Vec<u8> {
        let file = Box::new(self.begin_with(content, rules_of(self.config), &[]));
        match content {
            Content::All => self.keyspace.write_all(file),
            Content::Functions | Content::Nothing => file.finish(),
        }
    }

    /// Returns a file of all data for a replica. `for_7_0`: the replica may be as old as Redis 7.0. `db`: the selected
    /// database of the replication stream. O(data).
    pub(crate) fn write_for_replica(&self, for_7_0: bool, db: usize) -> Vec<u8> {
        self.keyspace.write_all(Box::new(self.begin_for_replica(for_7_0, db)))
    }

    /// Returns the beginning of a file for a replica, up to its first key.
    pub(crate) fn begin_for_replica(&self, for_7_0: bool, db: usize) -> RdbFile {
        let (rules, db) = (FileRules { for_7_0, ..rules_of(self.config) }, db.to_string());
        self.begin_with(Content::All, rules, &[("repl-stream-db", db.as_bytes())])
    }

    /// Returns the beginning of a base of the append-only file, up to its first key. The file has the form of Redis 7.0
    /// unless keys have data that such a server does not know. `is_rdb`: the file is in the format of saves.
    pub(crate) fn begin_base(&self, is_rdb: bool) -> Box<dyn KeyWriter> {
        if !is_rdb {
            let is_timed = self.config.append_only.timestamp_enabled;
            let time = is_timed.then_some(Annotation::Time(self.created_s));
            let last = (self.last_grant > 0).then_some(Annotation::LastGrant(self.last_grant));
            let annotations = time.into_iter().chain(last);
            return Box::new(RequestBase::new(annotations, self.libraries.iter().copied()));
        }
        let for_7_0 = (0..self.keyspace.databases()).all(|db| self.keyspace.with_timed_fields(db) == 0);
        let rules = FileRules { for_7_0, ..rules_of(self.config) };
        Box::new(self.begin_file(Content::All, rules, &[], true))
    }

    /// Returns a base of the append-only file with all data. O(data).
    pub(crate) fn write_base(&self, is_rdb: bool) -> Vec<u8> {
        self.keyspace.write_all(self.begin_base(is_rdb))
    }

    /// Returns the beginning of a file of all data, up to its first key.
    pub(crate) fn begin(&self) -> RdbFile {
        self.begin_with(Content::All, rules_of(self.config), &[])
    }

    fn begin_with(&self, content: Content, rules: FileRules, more: &[(&str, &[u8])]) -> RdbFile {
        self.begin_file(content, rules, more, false)
    }

    fn begin_file(
        &self,
        content: Content,
        rules: FileRules,
        more: &[(&str, &[u8])],
        is_base: bool,
    ) -> RdbFile {
        let number = |number: usize| number.to_string().into_bytes();
        let created = self.created_s.to_string().into_bytes();
        let (bits, memory) = (number(usize::BITS as usize), number(self.used_bytes));
        let mut about: Vec<(&str, &[u8])> = vec![
            ("redis-ver", REDIS_VERSION.as_bytes()),
            ("redis-bits", &bits),
            ("ctime", &created),
            ("used-mem", &memory),
        ];
        about.extend(more);
        let last_grant = self.last_grant.to_string();
        if self.last_grant > 0 {
            about.push((LAST_GRANT, last_grant.as_bytes()));
        }
        about.push(("aof-base", if is_base { b"1" } else { b"0" }));
        let has_libraries = content != Content::Nothing;
        let libraries = self.libraries.iter().copied().filter(|_| has_libraries);
        RdbFile::new(rules, &about, libraries)
    }
}

/// Returns the rules of the configuration. As in Redis, the eviction policy decides which access data are kept.
fn rules_of(config: &Config) -> FileRules {
    use MaxmemoryPolicy::{AllkeysLfu, AllkeysLru, VolatileLfu, VolatileLru};
    let accesses = match config.maxmemory_policy {
        AllkeysLru | VolatileLru => Some(Measure::IdleTime),
        AllkeysLfu | VolatileLfu => Some(Measure::Frequency),
        _ => None,
    };
    FileRules {
        accesses,
        compresses: config.saves.compression,
        has_checksum: config.saves.checksum,
        for_7_0: false,
    }
}
