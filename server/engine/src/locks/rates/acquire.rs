//! `RATE.ACQUIRE`: takes permits of an interval, at once or after a wait.

use super::super::{count, options};
use super::limiter::Limiter;
use super::window::{self, Window};
use crate::spec::{
    Args, Argument, Asking, Attempt, BlockingHandler, BlockingOutcome, CommandError, CommandGrammar, Flags,
    Flow, KeyFlags, KeySpec, Null, ParsedArgs, Row, Symbol, Wait, WaitClass, grammar, symbols,
};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::{CalledBy, Signal, Tx, WaiterId};

/// The grammar of `RATE.ACQUIRE`. Redisson's layout has 32 bits for permits.
const ACQUIRE: &CommandGrammar =
    grammar!("key [permits:1..4294967295] [BLOCK milliseconds:0..] [CLIENT client-id=id:string]");
const PERMITS: Symbol = ACQUIRE.symbol("permits");

symbols!(ACQUIRE: BLOCK, CLIENT);

pub(super) const ROWS: &[Row<BlockingHandler>] = &[Row::new("rate.acquire", -2, acquire as BlockingHandler)
    .flags(&[Flags::WRITE, Flags::DENYOOM, Flags::FAST, Flags::BLOCKING])
    .categories(&["lock"])
    .keys(&[KeySpec::one(1, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])])
    .about("lock", "7.2.0", "O(log N + M), N the acquisitions of an interval, M those that are over")
    .summary("Takes permits of a rate, or returns when enough will be free; with BLOCK waits for them.")
    .reply(
        "An array of three integers: 1 if the request was allowed, else 0; the permits that \
         are left; the milliseconds after which to ask again. Null if BLOCK has passed.",
    )
    .options(&[&[
        ("permits", "The number of permits, 1 by default."),
        ("BLOCK milliseconds", "Waits for the permits, first come, first served. 0 waits for ever."),
        ("CLIENT client-id", "The client, if each client has permits of its own."),
    ]])
    .example(&[
        "RATE.SET mail 2 1000",
        "RATE.ACQUIRE mail 2",
        "RATE.ACQUIRE mail",
        "CLOCK.ADVANCE 1000",
        "RATE.ACQUIRE mail",
    ])
    .help(&[
        "RATE.ACQUIRE <key> [<permits>] [BLOCK <milliseconds>] [CLIENT <id>]",
        "    Take permits. Return whether that was allowed, how many are left, and after how many",
        "    milliseconds to ask again. BLOCK waits for the permits; 0 waits for ever.",
    ])
    .help_after("rate.set")
    .grammar(ACQUIRE)
    .errors(&[
        "ERR syntax error: *",
        "ERR value is out of range, must be positive: *",
        "ERR value is not an integer or out of range: *",
        count::NOT_A_COUNT,
        "ERR hash value is not an integer",
        "ERR timeout is not an integer or out of range: *",
        "ERR timeout is negative: *",
        "ERR the rate is not set: use RATE.SET",
        "ERR CLIENT is missing: this rate applies to each client separately",
        "ERR requested permits exceed the rate: *",
        "UNBLOCKED LOCK.CANCEL ended the wait",
    ])];

/// The name of the wait class of `RATE.ACQUIRE`.
pub(in crate::locks) const CLASS: &str = "rate";

/// The class of waiters for permits of a rate. The head waits for its time, the others for the head. If each client has
/// permits of its own, it has a queue of its own, on the key of its remaining permits.
const RATE: WaitClass = WaitClass {
    name: CLASS,
    line: CLASS,
    accepts: |_| true,
    asking: Asking::InOrder,
    out_of_turn: Some(heads_of_clients),
    counts: true,
};

/// Returns the first waiter of each client of a rate with separate permits for each client.
fn heads_of_clients(tx: &Tx<'_>, key: &[u8], _: Signal) -> Vec<WaiterId> {
    let heads = tx.names_waiting(key).filter_map(|client| tx.waiting_as(key, client).next());
    let mut heads: Vec<_> = heads.collect();
    heads.sort_unstable();
    heads.into_iter().map(|(_, id)| id).collect()
}

#[derive(Debug)]
struct Acquire {
    permits: u32,
    /// The argument that names the client.
    client: Option<usize>,
}

fn parse(args: Args<'_>) -> Result<(Acquire, Option<Option<u64>>), CommandError> {
    let options: ParsedArgs<'_> = ACQUIRE.parse(args)?;
    let permits = options.integer(PERMITS)?.unwrap_or(1);
    let permits = u32::try_from(permits).expect("the grammar bounds it");
    let block = options::block_ms(&options, BLOCK)?;
    Ok((Acquire { permits, client: options.index(CLIENT) }, block))
}

fn acquire(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let (acquire, block) = parse(args)?;
    if acquire.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    let limiter = acquire.limiter(tx, &|at| args.all()[at])?;
    let may_wait = matches!(tx.called_by(), CalledBy::Client);
    let Some(timeout_ms) = block.filter(|_| may_wait) else {
        acquire.refuse(tx, &args[1], &limiter, reply)?;
        return Ok(Flow::Done);
    };
    let label = acquire.client.filter(|_| limiter.is_per_client);
    let mut wait = Wait::on_keys([1], &RATE, acquire, timeout_ms, Null::Bulk);
    wait.retry.label = label;
    wait.retry.beside = Some(limiter.value_key.into());
    Ok(wait.into())
}

impl Acquire {
    fn limiter(&self, tx: &mut Tx<'_>, argument: Argument<'_, '_>) -> Result<Limiter, CommandError> {
        let limiter = Limiter::read(tx, argument(1), self.client.map(argument))?;
        if i64::from(self.permits) <= limiter.rate {
            return Ok(limiter);
        }
        let (permits, rate) = (self.permits, limiter.rate);
        Err(CommandError::new(format!(
            "ERR requested permits exceed the rate: {permits} requested, the rate is {rate}"
        )))
    }

    /// Answers that there are not enough permits, or that other clients wait for them, and when to ask again.
    fn refuse(
        &self,
        tx: &mut Tx<'_>,
        key: &[u8],
        limiter: &Limiter,
        reply: &mut dyn Reply,
    ) -> Result<(), CommandError> {
        let window = Window::read(tx, limiter)?;
        let own = window.ready_at_ms(tx, limiter, self.permits.into());
        let head = tx.retry_at_ms(&limiter.value_key);
        let now_ms = tx.now().wall_ms();
        let retry_ms = own.max(head).map_or(limiter.interval_ms, |at| at.saturating_sub(now_ms).max(1));
        window.write(tx, limiter)?;
        window::keep_alive(tx, key, limiter);
        write(reply, false, window.left, retry_ms);
        Ok(())
    }
}

/// Writes whether the request was allowed, the permits that are left, and the milliseconds until a retry.
fn write(reply: &mut dyn Reply, allowed: bool, left: i64, retry_ms: i64) {
    reply.array(3);
    [i64::from(allowed), left, retry_ms].into_iter().for_each(|number| reply.integer(number));
}

impl Attempt for Acquire {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        waited_ms: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let key = &args[1];
        let limiter = self.limiter(tx, &|at| args.all()[at])?;
        let window = Window::read(tx, &limiter)?;
        let queues = waited_ms.is_none() && tx.first_waiting(&limiter.value_key, CLASS).is_some();
        if queues || window.left < i64::from(self.permits) {
            return Ok(false);
        }
        let left = window.take(tx, &limiter, self.permits)?;
        window::keep_alive(tx, key, &limiter);
        write(reply, true, left, 0);
        Ok(true)
    }

    fn ready_at_ms(&self, tx: &mut Tx<'_>, argument: Argument<'_, '_>) -> Option<i64> {
        let limiter = self.limiter(tx, argument).ok()?;
        let window = Window::read(tx, &limiter).ok()?;
        window.ready_at_ms(tx, &limiter, self.permits.into())
    }
}
