//! REPLCONF, PSYNC and SYNC: a replica introduces itself, and asks for what it lacks.

use crate::clients::Content;
use crate::core::{Call, Engine, Wanted};
use crate::spec::{Args, CommandError, Outcome, errors, quotable};
use lockwheel_resp::{Reply, number};

pub(super) const SNAPSHOT_ONLY_RANGE: &str = "ERR value is out of range, value must between 0 and 1";
pub(super) const NO_MASTER_LINK: &str = "NOMASTERLINK Can't SYNC while not connected with my master";

/// What a replica tells is accepted up to what is unknown.
pub(super) fn replconf(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Outcome {
    if args.len().is_multiple_of(2) {
        return Err(errors::SYNTAX);
    }
    for at in (1..args.len()).step_by(2) {
        let value = &args[at + 1];
        match &*args[at].to_ascii_lowercase() {
            b"listening-port" => {
                let port = args.int(at + 1)?;
                engine.announced(call).port = u16::try_from(port).unwrap_or(0);
            }
            b"ip-address" if value.len() < 256 => {
                engine.announced(call).ip = String::from_utf8_lossy(value).into_owned();
            }
            b"ip-address" => {
                let text = format!(
                    "ERR REPLCONF ip-address provided by replica instance is too long: {} bytes",
                    value.len()
                );
                return Err(CommandError::new(text));
            }
            b"capa" => match &*value.to_ascii_lowercase() {
                b"eof" => engine.announced(call).reads_marked = true,
                b"psync2" => engine.announced(call).follows_renamed = true,
                b"rdb-12" => engine.announced(call).reads_newer_forms = true,
                _ => {}
            },
            b"rdb-only" => {
                let only = args.int_in(at + 1, 0, 1, CommandError::text(SNAPSHOT_ONLY_RANGE))?;
                engine.sessions.get_mut(call.slot).replica.snapshot_only = only == 1;
            }
            b"rdb-filter-only" => engine.sessions.get_mut(call.slot).replica.content = content_of(value)?,
            b"version" => {}
            // Between a master and its replicas these have no answer.
            b"ack" => {
                acknowledge(engine, call, args, at);
                return Ok(());
            }
            b"getack" => return Ok(()),
            _ => {
                let unknown = b"ERR Unrecognized REPLCONF option: ";
                return Err(CommandError::new([unknown, quotable(&args[at])].concat()));
            }
        }
    }
    reply.ok();
    Ok(())
}

/// A replica says up to where it has the stream, and perhaps up to where it has it on disk.
fn acknowledge(engine: &mut Engine, call: Call<'_>, args: Args<'_>, at: usize) {
    let offset = number::parse_i64(&args[at + 1]);
    let has_disk = args.len() > at + 3 && args.is(at + 2, "fack");
    let on_disk = if has_disk { number::parse_i64(&args[at + 3]) } else { None };
    if let Some(offset) = offset {
        engine.replica_acknowledges(call.session, offset, on_disk);
    }
}

/// What the words of a filter let through.
fn content_of(filter: &[u8]) -> Result<Content, CommandError> {
    let mut content = Content::Nothing;
    for word in filter.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        if !word.eq_ignore_ascii_case(b"functions") {
            let unsupported = b"ERR Unsupported rdb-filter-only option: ";
            return Err(CommandError::new([unsupported, quotable(word)].concat()));
        }
        content = Content::Functions;
    }
    Ok(content)
}

pub(super) const HEIR_IS_MASTER: &str = "ERR PSYNC FAILOVER can't be sent to a master.";
pub(super) const OTHER_HISTORY: &str = "ERR PSYNC FAILOVER replid must match my replid.";

/// The master asks its replica to take its part over.
fn take_over(engine: &mut Engine, call: Call<'_>, args: Args<'_>) -> Outcome {
    if engine.following.is_none() {
        return Err(CommandError::text(HEIR_IS_MASTER));
    }
    if !engine.replication.id.is(&args[1]) {
        return Err(CommandError::text(OTHER_HISTORY));
    }
    engine.unfollow_master();
    let client = engine.asking_client(call.slot, args);
    tracing::info!("MASTER MODE enabled (failover request from '{client}')");
    Ok(())
}

pub(super) fn psync(engine: &mut Engine, call: Call<'_>, args: Args<'_>, _: &mut dyn Reply) -> Outcome {
    let offset = args.int(2)?;
    let wishes = engine.session(call.slot).replica;
    if wishes.snapshot_only {
        return engine.send_copy(call.slot, true);
    }
    if args.len() > 3 && args.is(3, "failover") && !engine.session(call.slot).is_replica {
        take_over(engine, call, args)?;
    }
    attach(engine, call, Wanted { from: Some((&args[1], offset)) })
}

pub(super) fn sync(engine: &mut Engine, call: Call<'_>, _: Args<'_>, _: &mut dyn Reply) -> Outcome {
    let wishes = engine.session(call.slot).replica;
    if wishes.snapshot_only {
        return engine.send_copy(call.slot, false);
    }
    attach(engine, call, Wanted { from: None })
}

fn attach(engine: &mut Engine, call: Call<'_>, wanted: Wanted<'_>) -> Outcome {
    if engine.session(call.slot).is_replica {
        return Ok(());
    }
    if !engine.has_its_master() {
        return Err(CommandError::text(NO_MASTER_LINK));
    }
    let reads_newer_forms = engine.announced(call).reads_newer_forms;
    // Who asks by SYNC looks at the stream, and does not ask again.
    if wanted.from.is_some() && engine.master_is_too_new_for(reads_newer_forms) {
        return Err(CommandError::text(NO_MASTER_LINK));
    }
    engine.attach_replica(call.slot, wanted)
}
