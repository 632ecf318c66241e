//! Strings, keys, deadlines, SCAN and whole databases: line by line in both protocols, and compared with a real
//! redis-server.

mod accesses;
mod compared;
mod databases;
mod expiry;
mod generic;
mod moving;
mod scan;
mod strings;
