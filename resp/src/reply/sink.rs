//! The sink for the reply of a command.

/// The protocol version that a client (or a script, by `redis.setresp`) has chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// RESP2, the version of a new connection.
    #[default]
    Resp2,
    /// RESP3, chosen by `HELLO 3`.
    Resp3,
}

/// The destination of a command's reply: the wire, or the Lua stack.
///
/// Calls must come in the order of the reply, with an aggregate's header before its elements. Exactly as many elements
/// must follow as the header announces; a map of `n` pairs takes `2 n` values. A type that RESP2 lacks is replaced by
/// the one that Redis sends instead.
pub trait Reply {
    /// The protocol of the client that reads the reply. Some commands have another shape of reply in RESP3.
    fn protocol(&self) -> Protocol;
    /// A simple string: `+text`. CR and LF in it become spaces.
    fn status(&mut self, text: &[u8]);
    /// An error, with its code and without the leading `-`: `ERR syntax error`. CR and LF in it become spaces.
    fn error(&mut self, text: &[u8]);
    /// An integer: `:n`.
    fn integer(&mut self, value: i64);
    /// A bulk string: `$len`.
    fn bulk(&mut self, bytes: &[u8]);
    /// Null: `$-1`, in RESP3 `_`.
    fn null(&mut self);
    /// Null in place of an array in RESP2: `*-1`, in RESP3 `_`.
    fn null_array(&mut self);
    /// A double: a bulk string of its shortest text, in RESP3 `,text`.
    fn double(&mut self, value: f64);
    /// A double with up to seventeen decimals instead of its shortest text, as coordinates are written: a bulk string,
    /// in RESP3 `,text`.
    fn decimal(&mut self, value: f64);
    /// A boolean: `:1` or `:0`, in RESP3 `#t` or `#f`.
    fn boolean(&mut self, value: bool);
    /// A big number: a bulk string of its digits, in RESP3 `(digits`.
    fn big_number(&mut self, digits: &[u8]);
    /// A text with its format (`txt`, `mkd`): a bulk string, in RESP3 `=`.
    fn verbatim(&mut self, format: [u8; 3], text: &[u8]);
    /// The header of an array of `len` values: `*len`.
    fn array(&mut self, len: usize);
    /// The header of a map of `pairs` keys and values: `*2n`, in RESP3 `%n`.
    fn map(&mut self, pairs: usize);
    /// The header of a set of `len` values: `*len`, in RESP3 `~len`.
    fn set(&mut self, len: usize);
    /// The header of an out-of-band message of `len` values: `*len`, in RESP3 `>len`.
    fn push(&mut self, len: usize);

    /// The header of attributes of the value that follows, `pairs` keys and values: in RESP3 `|n`. Returns whether the
    /// attributes are to be written. Otherwise the reader gets the value alone.
    fn attribute(&mut self, pairs: usize) -> bool {
        let _ = pairs;
        false
    }

    /// The number of bytes written: a position for [`rewind`](Reply::rewind). Meaningless for a sink that cannot
    /// rewind.
    fn written(&self) -> usize {
        0
    }

    /// The bytes written after that position, if the sink keeps them.
    fn written_since(&self, _written: usize) -> &[u8] {
        &[]
    }

    /// Drops the bytes written after that position, if the sink can. Used to replace a reply that has begun.
    fn rewind(&mut self, _written: usize) {}

    /// Appends bytes that a writer has written in this protocol. Only a client's sink supports it.
    fn append(&mut self, _written: &[u8]) {}

    /// Continues in this protocol, since the command has changed the protocol of the reply's reader.
    fn speak(&mut self, protocol: Protocol) {
        let _ = protocol;
    }

    /// Drops all output from here on (`true`) or keeps it; returns the previous state. Only a client may ask for
    /// silence (CLIENT REPLY), so other sinks ignore this.
    fn mute(&mut self, muted: bool) -> bool {
        let _ = muted;
        false
    }

    /// The status `OK`.
    fn ok(&mut self) {
        self.status(b"OK");
    }
}
