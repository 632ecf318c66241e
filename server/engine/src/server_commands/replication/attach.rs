//! REPLCONF, PSYNC and SYNC: a replica introduces itself and requests the missing data.

use super::NEITHER_0_NOR_1;
use crate::clients::Session;
use crate::persistence::Content;
use crate::replication::{
    Acknowledgement, NO_MASTER_LINK, Replication, ReplicationRequest, ReplicationView, Requested, SyncRequest,
};
use crate::spec::{Args, CommandError, errors, quotable};
use lockwheel_resp::{Reply, number};

/// Records the facts that a replica announces, up to the first unknown one.
pub(super) fn replconf(
    history: &mut Replication,
    session: &mut Session,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Option<Acknowledgement>, CommandError> {
    if args.len().is_multiple_of(2) {
        return Err(errors::SYNTAX);
    }
    for at in (1..args.len()).step_by(2) {
        let value = &args[at + 1];
        match &*args[at].to_ascii_lowercase() {
            b"listening-port" => {
                let port = args.int(at + 1)?;
                history.announced_mut(session.id).port = u16::try_from(port).unwrap_or(0);
            }
            b"ip-address" if value.len() < 256 => {
                history.announced_mut(session.id).ip = String::from_utf8_lossy(value).into_owned();
            }
            b"ip-address" => {
                let text = format!(
                    "ERR REPLCONF ip-address provided by replica instance is too long: {} bytes",
                    value.len()
                );
                return Err(CommandError::new(text));
            }
            b"capa" => match &*value.to_ascii_lowercase() {
                b"eof" => history.announced_mut(session.id).reads_marked = true,
                b"psync2" => history.announced_mut(session.id).follows_renamed = true,
                b"rdb-12" => history.announced_mut(session.id).reads_newer_forms = true,
                _ => {}
            },
            b"rdb-only" => {
                let only = args.int_in(at + 1, 0, 1, CommandError::text(NEITHER_0_NOR_1))?;
                session.replica.snapshot_only = only == 1;
            }
            b"rdb-filter-only" => session.replica.content = content_of(value)?,
            b"version" => {}
            // Between a master and its replicas, these have no reply.
            b"ack" => return Ok(acknowledgement(args, at)),
            b"getack" => return Ok(None),
            _ => {
                let unknown = b"ERR Unrecognized REPLCONF option: ";
                return Err(CommandError::new([unknown, quotable(&args[at])].concat()));
            }
        }
    }
    reply.ok();
    Ok(None)
}

/// Parses the acknowledged offset of a replica, and the one on disk if given.
fn acknowledgement(args: Args<'_>, at: usize) -> Option<Acknowledgement> {
    let offset = number::parse_i64(&args[at + 1]);
    let has_disk = args.len() > at + 3 && args.is(at + 2, "fack");
    let on_disk = if has_disk { number::parse_i64(&args[at + 3]) } else { None };
    offset.map(|offset| Acknowledgement { offset, on_disk })
}

/// Parses the words of a filter into the contents of a snapshot.
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
const NEEDS_EOF: &str = "ERR Filtered replica requires EOF capability";
pub(super) const OTHER_HISTORY: &str = "ERR PSYNC FAILOVER replid must match my replid.";

pub(super) fn psync<'a>(
    view: ReplicationView<'_>,
    session: &Session,
    args: Args<'a>,
    _: &mut dyn Reply,
) -> Requested<'a> {
    let offset = args.int(2)?;
    if session.replica.snapshot_only {
        return copy(view, session, true);
    }
    let takes_over = args.len() > 3 && args.is(3, "failover") && !session.is_replica;
    if takes_over && !view.is_replica() {
        return Err(CommandError::text(HEIR_IS_MASTER));
    }
    let id = args.all()[1];
    if takes_over && !view.history().id().is(id) {
        return Err(CommandError::text(OTHER_HISTORY));
    }
    attach(view, session, SyncRequest { from: Some((id, offset)), takes_over })
}

pub(super) fn sync<'a>(
    view: ReplicationView<'_>,
    session: &Session,
    _: Args<'a>,
    _: &mut dyn Reply,
) -> Requested<'a> {
    if session.replica.snapshot_only {
        return copy(view, session, false);
    }
    attach(view, session, SyncRequest { from: None, takes_over: false })
}

/// Requests a copy of the data, or refuses it where Redis does. A part of the data needs a client that announced
/// `capa eof`. `tells_offset`: the place in the history precedes the copy.
fn copy<'a>(view: ReplicationView<'_>, session: &Session, tells_offset: bool) -> Requested<'a> {
    if has_asked(view, session) {
        return Ok(ReplicationRequest::Nothing);
    }
    if !view.has_its_master() {
        return Err(CommandError::text(NO_MASTER_LINK));
    }
    if session.replica.content != Content::All && !view.history().reads_marked(session.id) {
        return Err(CommandError::text(NEEDS_EOF));
    }
    Ok(ReplicationRequest::Copy { tells_offset })
}

/// Whether a client has asked for the data before. Another request for them has no answer.
fn has_asked(view: ReplicationView<'_>, session: &Session) -> bool {
    session.is_replica || view.history().copies_for(session.id)
}

/// Refuses a replica while the server does not know what its own master does. A server that takes over has none.
fn attach<'a>(view: ReplicationView<'_>, session: &Session, wanted: SyncRequest<'a>) -> Requested<'a> {
    if has_asked(view, session) {
        return Ok(ReplicationRequest::Nothing);
    }
    if !wanted.takes_over && !view.has_its_master() {
        return Err(CommandError::text(NO_MASTER_LINK));
    }
    Ok(ReplicationRequest::Sync(wanted))
}
