//! WAIT and WAITAOF: until replicas have said that they have a client's writes.

use crate::core::{Call, Engine, EngineAttempt, Origin, Retry, StateOf};
use crate::spec::{Answer, Args, CommandError, Flow, Null, Wait, parse_integer_timeout_ms};
use lockwheel_resp::Reply;

pub(super) const LOCAL_OUT_OF_RANGE: &str = "ERR value is out of range, value must between 0 and 1";
pub(super) const NO_APPEND_ONLY_FILE: &str =
    "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
pub(super) const WAIT_ON_REPLICA: &str = "ERR WAIT cannot be used with replica instances. Please also note that since \
                                          Redis 4.0 if a replica is configured to be writable (which is not the \
                                          default) writes to replicas are just local and are not propagated.";
pub(super) const WAITAOF_ON_REPLICA: &str = "ERR WAITAOF cannot be used with replica instances. Please also note that \
                                             writes to replicas are just local and are not propagated.";

/// What a client waits for.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    /// So many replicas, and the offset that they are to have.
    replicas: usize,
    offset: i64,
    /// On their disks: then two numbers are answered, of which the first is this server's own disk.
    on_disk: bool,
}

impl Awaited {
    fn reached(self, engine: &Engine) -> usize {
        match self.on_disk {
            true => engine.replication.on_disk(self.offset),
            false => engine.replication.acknowledged(self.offset),
        }
    }

    fn answer(self, reached: usize, reply: &mut dyn Reply) {
        if self.on_disk {
            reply.array(2);
            reply.integer(0);
        }
        reply.integer(reached as i64);
    }

    /// Answers at once, or waits.
    fn begin(
        self,
        engine: &mut Engine,
        call: Call<'_>,
        timeout_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        let reached = self.reached(engine);
        if reached >= self.replicas || call.origin() != Origin::Client {
            self.answer(reached, reply);
            return Ok(Flow::Done);
        }
        engine.request_acknowledgements();
        let null = if self.on_disk { Null::TwoZeros } else { Null::Zero };
        Ok(Wait::new(Retry::Always(Box::new(self)), timeout_ms, null).into())
    }
}

impl EngineAttempt for Awaited {
    fn watches(&self) -> StateOf {
        StateOf::Replicas
    }

    fn attempt(&self, engine: &Engine, reply: &mut dyn Reply) -> bool {
        let reached = self.reached(engine);
        let is_done = reached >= self.replicas;
        if is_done {
            self.answer(reached, reply);
        }
        is_done
    }

    fn is_counted(&self) -> bool {
        true
    }

    /// What has been reached is told.
    fn in_vain(&self, engine: &Engine) -> Option<Answer> {
        let (awaited, reached) = (*self, self.reached(engine));
        Some(Box::new(move |reply| awaited.answer(reached, reply)))
    }
}

pub(super) fn wait(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    if engine.following.is_some() {
        return Err(CommandError::text(WAIT_ON_REPLICA));
    }
    let replicas = args.int(1)?;
    let timeout_ms = parse_integer_timeout_ms(&args[2], engine.timeout_rule())?;
    // Redis keeps the lowest 32 bits of the number.
    let replicas = usize::try_from(replicas as i32).unwrap_or(0);
    let offset = engine.replication.written_by(call.session);
    Awaited { replicas, offset, on_disk: false }.begin(engine, call, timeout_ms, reply)
}

pub(super) fn waitaof(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let local = args.int_in(1, 0, 1, CommandError::text(LOCAL_OUT_OF_RANGE))?;
    let replicas = args.count(2)?;
    let timeout_ms = parse_integer_timeout_ms(&args[3], engine.timeout_rule())?;
    if engine.following.is_some() {
        return Err(CommandError::text(WAITAOF_ON_REPLICA));
    }
    if local > 0 {
        return Err(CommandError::text(NO_APPEND_ONLY_FILE));
    }
    let offset = engine.replication.written_by(call.session);
    Awaited { replicas, offset, on_disk: true }.begin(engine, call, timeout_ms, reply)
}
