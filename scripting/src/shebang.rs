//! The first line of a script: `#!lua flags=no-writes,allow-oom`.

use crate::error::{Error, until_nul};
use lockwheel_resp::split_words;

/// The flags in a script's first line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Whether there is such a line. A script without one is restricted by its commands, not by its flags.
    pub shebang: bool,
    /// Whether the script must not write.
    pub no_writes: bool,
    /// Whether the script may run when memory is short.
    pub allow_oom: bool,
    /// Whether the script may run on a replica that has lost its master.
    pub allow_stale: bool,
    /// Whether the script must not run in a cluster.
    pub no_cluster: bool,
    /// Whether the script may use keys of several slots.
    pub allow_cross_slot_keys: bool,
}

/// The flags that a script's first line declares. Returns `None` if there is no such line, or an invalid one. O(length
/// of the line).
pub fn declared(body: &[u8]) -> Option<Flags> {
    let (flags, _) = parse(body).ok()?;
    flags.shebang.then_some(flags)
}

/// Parses the flags of a script; also returns the text to compile. That begins at the end of the first line, so that
/// lines keep their numbers. Errors are Redis', word for word.
pub(crate) fn parse(body: &[u8]) -> Result<(Flags, &[u8]), Error> {
    if !body.starts_with(b"#!") {
        return Ok((Flags::default(), body));
    }
    // Redis reads the text, and each word, as a C string, which ends at a NUL.
    let end = until_nul(body).iter().position(|byte| *byte == b'\n');
    let end = end.ok_or_else(|| Error::new("ERR Invalid script shebang"))?;
    let (line, rest) = body.split_at(end);
    let words = split_words(line).ok_or_else(|| Error::new("ERR Invalid engine in script shebang"))?;
    let mut words = words.iter();
    let engine = words.next().map(Vec::as_slice).unwrap_or_default();
    if until_nul(engine) != b"#!lua" {
        return Err(Error::with("ERR Unexpected engine in script shebang: ", engine));
    }
    let mut flags = Flags { shebang: true, ..Flags::default() };
    for word in words {
        let list = word.strip_prefix(b"flags=");
        let list = list.ok_or_else(|| Error::with("ERR Unknown lua shebang option: ", word))?;
        if !list.is_empty() {
            list.split(|byte| *byte == b',').try_for_each(|name| flags.set(name))?;
        }
    }
    Ok((flags, rest))
}

impl Flags {
    /// The names of the flags that are set, in Redis' order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let flags = [
            (self.no_writes, "no-writes"),
            (self.allow_oom, "allow-oom"),
            (self.allow_stale, "allow-stale"),
            (self.no_cluster, "no-cluster"),
            (self.allow_cross_slot_keys, "allow-cross-slot-keys"),
        ];
        flags.into_iter().filter_map(|(is_set, name)| is_set.then_some(name))
    }

    /// Sets the flag with this name, in lower case. Returns false if there is none.
    pub(crate) fn set_named(&mut self, name: &[u8]) -> bool {
        let flag = match name {
            b"no-writes" => &mut self.no_writes,
            b"allow-oom" => &mut self.allow_oom,
            b"allow-stale" => &mut self.allow_stale,
            b"no-cluster" => &mut self.no_cluster,
            b"allow-cross-slot-keys" => &mut self.allow_cross_slot_keys,
            _ => return false,
        };
        *flag = true;
        true
    }

    fn set(&mut self, name: &[u8]) -> Result<(), Error> {
        if self.set_named(until_nul(name)) {
            return Ok(());
        }
        Err(Error::with("ERR Unexpected flag in script shebang: ", name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(body: &str) -> String {
        String::from_utf8(parse(body.as_bytes()).unwrap_err().into_bytes()).unwrap()
    }

    #[test]
    fn reads_flags_and_keeps_line_numbers() {
        let (flags, text) = parse(b"return 1").unwrap();
        assert_eq!((flags, text), (Flags::default(), &b"return 1"[..]));
        let (flags, text) = parse(b"#!lua flags=no-writes,allow-oom\nreturn 1").unwrap();
        assert_eq!(text, b"\nreturn 1");
        assert_eq!(flags, Flags { shebang: true, no_writes: true, allow_oom: true, ..Flags::default() });
        for body in ["#!lua\n", "#!lua flags=\nx", "#!lua\r\nreturn 1", "#!lua  \"flags=\"\nx"] {
            assert_eq!(parse(body.as_bytes()).unwrap().0, Flags { shebang: true, ..Flags::default() });
        }
        let (flags, _) =
            parse(b"#!lua\tflags=allow-stale flags=\"no-cluster,allow-cross-slot-keys\"\nx").unwrap();
        assert!(flags.allow_stale && flags.no_cluster && flags.allow_cross_slot_keys && !flags.no_writes);
    }

    /// Each text is that of redis-server 7.0.15.
    #[test]
    fn errors_are_those_of_redis() {
        for (body, text) in [
            ("#!", "ERR Invalid script shebang"),
            ("#!lua", "ERR Invalid script shebang"),
            ("#!python\nx", "ERR Unexpected engine in script shebang: #!python"),
            ("#!\nx", "ERR Unexpected engine in script shebang: #!"),
            ("#! lua\nx", "ERR Unexpected engine in script shebang: #!"),
            ("#!luaflags=no-writes\nx", "ERR Unexpected engine in script shebang: #!luaflags=no-writes"),
            ("#!lua 'flags=no-writes\nx", "ERR Invalid engine in script shebang"),
            ("#!lua name=x\nx", "ERR Unknown lua shebang option: name=x"),
            ("#!lua flags=no-writes allow-oom\nx", "ERR Unknown lua shebang option: allow-oom"),
            ("#!lua flags=bad\nx", "ERR Unexpected flag in script shebang: bad"),
            ("#!lua flags=no-writes,\nx", "ERR Unexpected flag in script shebang: "),
            ("#!lua flags=NO-WRITES\nx", "ERR Unexpected flag in script shebang: NO-WRITES"),
            ("#!lua flags=a\rb\nx", "ERR Unexpected flag in script shebang: a"),
            ("#!lua\0\nx", "ERR Invalid script shebang"),
            ("#!lua flags=no-wr\0ites\nx", "ERR Invalid script shebang"),
            ("#!\"lu\\x00a\"\nx", "ERR Unexpected engine in script shebang: #!lu"),
            ("#!lua \"fl\\x00ags=no-writes\"\nx", "ERR Unknown lua shebang option: fl"),
            ("#!lua \"flags=no-wr\\x00ites\"\nx", "ERR Unexpected flag in script shebang: no-wr"),
            ("#!lua \"flags=\\x00,no-writes\"\nx", "ERR Unexpected flag in script shebang: "),
        ] {
            assert_eq!(error(body), text);
        }
        for body in ["#!\"lua\\x00x\" flags=no-writes\n", "#!lua \"flags=no-writes\\x00x\"\n"] {
            assert!(parse(body.as_bytes()).unwrap().0.no_writes, "{body:?}");
        }
    }
}
