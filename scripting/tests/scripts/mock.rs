//! A host with a few commands.

use lockwheel_resp::{Protocol, Reply, Writer};
use lockwheel_scripting::{Host, Options, Runtime, ScriptControl, ScriptId};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// Called with a command.
type OnCall = Box<dyn FnMut(&[&[u8]])>;

/// A keyspace of strings, and the messages that scripts have logged.
#[derive(Default)]
pub(crate) struct Mock {
    pub(crate) strings: HashMap<Vec<u8>, Vec<u8>>,
    pub(crate) logged: Vec<(u8, Vec<u8>)>,
    pub(crate) calls: Vec<Vec<Vec<u8>>>,
    pub(crate) slow: usize,
    pub(crate) on_slow: Option<Box<dyn FnMut(usize)>>,
    pub(crate) control: Option<Arc<ScriptControl>>,
    /// Advances by a quarter of a millisecond at each reading.
    pub(crate) clock_us: Cell<u64>,
    /// The counted errors: the text, whether the error is new, and the count.
    pub(crate) errors: Vec<(String, bool, u64)>,
    /// Called before each command.
    pub(crate) on_call: Option<OnCall>,
}

/// The commands, and the number of arguments of each, name included; 0 for any number.
const COMMANDS: &[(&str, usize)] = &[
    ("ping", 1),
    ("echo", 2),
    ("get", 2),
    ("set", 3),
    ("incr", 2),
    ("del", 0),
    ("lpush", 3),
    ("lrange", 4),
    ("reply", 2),
    ("deep", 2),
    ("panic", 1),
];

const WRONG_TYPE: &[u8] = b"WRONGTYPE Operation against a key holding the wrong kind of value";

impl Host for Mock {
    fn call(&mut self, argv: &[&[u8]], reply: &mut dyn Reply) {
        if let Some(hook) = &mut self.on_call {
            hook(argv);
        }
        self.calls.push(argv.iter().map(|argument| argument.to_vec()).collect());
        let name = String::from_utf8_lossy(argv[0]).to_ascii_lowercase();
        let Some((_, arity)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
            return reply.error(b"ERR Unknown Redis command called from script");
        };
        if *arity != 0 && argv.len() != *arity {
            return reply.error(b"ERR Wrong number of args calling Redis command from script");
        }
        match name.as_str() {
            "ping" => reply.status(b"PONG"),
            "echo" => reply.bulk(argv[1]),
            "get" if argv[1] == b"l" => reply.error(WRONG_TYPE),
            "get" => match self.strings.get(argv[1]) {
                Some(value) => reply.bulk(value),
                None => reply.null(),
            },
            "set" => {
                if self.control.as_ref().is_some_and(|control| !control.mark_write()) {
                    return reply.null();
                }
                self.strings.insert(argv[1].to_vec(), argv[2].to_vec());
                reply.ok();
            }
            "incr" => {
                let value = self.strings.entry(argv[1].to_vec()).or_default();
                let next = String::from_utf8_lossy(value).parse().unwrap_or(0_i64) + 1;
                *value = next.to_string().into_bytes();
                reply.integer(next);
            }
            "del" => reply.integer(0),
            "lpush" => reply.integer(1),
            "lrange" => reply.array(0),
            "reply" => canned(argv[1], reply),
            "deep" => {
                let depth: usize = String::from_utf8_lossy(argv[1]).parse().unwrap();
                (0..depth).for_each(|_| reply.array(1));
                reply.integer(1);
            }
            _ => panic!("the host panics"),
        }
    }

    fn log(&mut self, level: u8, message: &[u8]) {
        self.logged.push((level, message.to_vec()));
    }

    fn on_slow(&mut self) {
        self.slow += 1;
        if let Some(hook) = &mut self.on_slow {
            hook(self.slow);
        }
    }

    fn clock_us(&self) -> u64 {
        self.clock_us.set(self.clock_us.get() + 250);
        self.clock_us.get()
    }

    fn answered_error(&mut self, text: &[u8], is_new: bool, times: u64) {
        self.errors.push((String::from_utf8_lossy(text).into_owned(), is_new, times));
    }

    fn may_run(&mut self, argv: &[&[u8]]) -> Option<bool> {
        let name = String::from_utf8_lossy(argv[0]).to_ascii_lowercase();
        COMMANDS.iter().any(|(known, _)| *known == name).then_some(name != "del")
    }
}

fn canned(name: &[u8], reply: &mut dyn Reply) {
    match name {
        b"map" => {
            reply.map(2);
            reply.bulk(b"a");
            reply.integer(1);
            reply.bulk(b"b");
            reply.array(2);
            reply.integer(2);
            reply.null();
        }
        b"set" => {
            reply.set(2);
            reply.bulk(b"x");
            reply.null();
        }
        b"emptymap" => reply.map(0),
        b"double" => reply.double(1.5),
        b"true" => reply.boolean(true),
        b"big" => reply.big_number(b"123456789012345678901234567890"),
        b"text" => reply.verbatim(*b"txt", b"some text"),
        b"null" => reply.null(),
        b"nullarray" => reply.null_array(),
        b"status" => reply.status(b"a\r\nb"),
        b"error" => reply.error(b"CODE a\r\nb"),
        b"nested" => {
            reply.array(4);
            reply.error(b"ERR inner");
            reply.ok();
            reply.map(1);
            reply.bulk(b"k");
            reply.set(1);
            reply.double(0.5);
            reply.array(0);
        }
        b"pairs" => {
            reply.map(1);
            reply.null();
            reply.bulk(b"lost: nil is no key");
        }
        _ => reply.null(),
    }
}

/// A runtime with a small memory, a host, and all else that running scripts requires.
pub(crate) struct Bench {
    pub(crate) runtime: Runtime,
    pub(crate) control: Arc<ScriptControl>,
    pub(crate) host: Mock,
    pub(crate) protocol: Protocol,
}

impl Default for Bench {
    fn default() -> Bench {
        Bench::with_memory(64 << 20)
    }
}

impl Bench {
    pub(crate) fn with_memory(memory_limit: usize) -> Bench {
        let control = Arc::new(ScriptControl::new());
        let options = Options { memory_limit, seed: 1, redis_version: "7.2.5", deprecated_api: false };
        let runtime = Runtime::new(options, control.clone());
        let host = Mock { control: Some(control.clone()), ..Mock::default() };
        Bench { runtime, control, host, protocol: Protocol::Resp2 }
    }

    pub(crate) fn run(&mut self, id: ScriptId, keys: &[&[u8]], args: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, self.protocol);
        self.runtime.begin(id, 0).run(keys, args, &mut self.host, &mut writer);
        bytes
    }

    /// Runs a script by EVAL. Returns the reply, escaped like a string literal, with `SHA` in place of the script's
    /// SHA-1.
    pub(crate) fn eval_with(&mut self, script: &str, keys: &[&[u8]], args: &[&[u8]]) -> String {
        let bytes = match self.runtime.intern(script.as_bytes()) {
            Err(error) => [b"-", error.as_bytes(), b"\r\n"].concat(),
            Ok(id) => self.run(id, keys, args),
        };
        let mut text = escape(&bytes);
        if text.contains("script") {
            let id = self.runtime.intern(script.as_bytes());
            if let Some(sha) = id.ok().and_then(|id| self.runtime.sha(id)) {
                text = text.replace(&sha.to_string(), "SHA");
            }
        }
        text
    }

    pub(crate) fn eval(&mut self, script: &str) -> String {
        self.eval_with(script, &[], &[])
    }
}

/// The bytes as escaped text.
pub(crate) fn escape(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        match byte {
            b'\r' => text.push_str("\\r"),
            b'\n' => text.push_str("\\n"),
            b'\\' => text.push_str("\\\\"),
            32..=126 => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
        text
    })
}

/// Runs a test on a thread with the stack that an engine's thread has.
pub(crate) fn on_engine_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(test).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
