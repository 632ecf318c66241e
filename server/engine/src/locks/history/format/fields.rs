//! The fields of an entry, in order, for the map and the JSON.

use super::super::entry::{Cause, Entry, Event, Mode};
use super::super::names::Name;
use super::super::ring::Ring;
use lockwheel_scripting::Sha;
use std::borrow::Cow;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Null,
    Number(i64),
    Text(Cow<'a, [u8]>),
}

impl<'a> Field<'a> {
    fn text(text: &'a [u8]) -> Self {
        if text.is_empty() { Field::Null } else { Field::Text(Cow::Borrowed(text)) }
    }

    fn positive(number: u64) -> Self {
        if number == 0 { Field::Null } else { Field::Number(i64::try_from(number).unwrap_or(i64::MAX)) }
    }
}

/// Returns the command of an entry, or the SHA-1 of its script.
pub(super) fn by<'a>(ring: &'a Ring, entry: &Entry) -> Cow<'a, [u8]> {
    let text = ring.text(entry.by);
    if entry.is_by_text() { Cow::Owned(Sha::of(text).as_bytes().to_vec()) } else { Cow::Borrowed(text) }
}

/// Whether a request that causes this event may have waited before.
fn may_wait(event: Event) -> bool {
    !matches!(
        event,
        Event::Clock
            | Event::Fault
            | Event::Connect
            | Event::Disconnect
            | Event::Mark
            | Event::Fenced
            | Event::FenceRefused
            | Event::Habit
            | Event::Entered
            | Event::Left
    )
}

/// Returns all fields of an entry, each with its name, except fields that no entry of its kind has.
pub(super) fn fields<'a>(ring: &'a Ring, seq: u64, entry: &'a Entry) -> Vec<(&'static str, Field<'a>)> {
    let text = |name: Name| Field::text(ring.text(name));
    let kind = match entry.native() {
        None => Field::Null,
        Some(true) => Field::text(b"native"),
        Some(false) => Field::text(b"foreign"),
    };
    let is_clock = entry.event == Event::Clock;
    let is_permits = entry.event == Event::Permits;
    let has_holds = entry.native().is_some() || is_permits;
    let holds = if has_holds { Field::Number(entry.holds) } else { Field::Null };
    let ttl = match entry.event {
        Event::Clock => None,
        Event::Permits => ring.lease_of(entry),
        _ => entry.ttl(),
    };
    let cause = if entry.cause == Cause::None { "" } else { entry.cause.name() };
    let fault = if entry.event == Event::Fault { text(entry.text) } else { Field::Null };
    let db = ring.db(entry.key).map_or(Field::Null, |db| Field::Number(db as i64));
    let (client, when) = (ring.client_of(entry), ring.when(seq, entry));
    let mut fields = vec![
        ("seq", Field::positive(seq)),
        ("wall", Field::Number(when.wall_ms)),
        ("monotonic", Field::Number(when.monotonic_ms)),
        ("event", Field::text(entry.event.name().as_bytes())),
        ("db", db),
        ("key", text(entry.key)),
        ("kind", kind),
        ("mode", Field::text(if entry.mode == Mode::None { b"" } else { entry.mode.name().as_bytes() })),
        ("owner", text(entry.owner)),
        ("grant", if is_permits { Field::Null } else { Field::positive(entry.grant) }),
        ("holds", holds),
        ("ttl", ttl.map_or(Field::Null, Field::Number)),
        (
            "waited",
            if may_wait(entry.event) { Field::Number(i64::from(entry.waited_ms)) } else { Field::Null },
        ),
        ("cause", Field::text(cause.as_bytes())),
        ("client", Field::positive(client)),
        ("clientname", text(entry.client_name)),
        (
            "by",
            match by(ring, entry) {
                by if by.is_empty() => Field::Null,
                by => Field::Text(by),
            },
        ),
        ("fault", fault),
    ];
    if is_clock {
        fields.push(("from", Field::Number(entry.ttl_ms)));
        fields.push(("to", Field::Number(entry.holds)));
    }
    if is_permits {
        fields.push(("left", entry.ttl().map_or(Field::Null, Field::Number)));
        fields.push(("held", Field::Number(entry.grant as i64)));
        fields.push(("total", entry.total().map_or(Field::Null, Field::Number)));
    }
    if let Some(node) = ring.place(seq) {
        fields.push(("node", Field::text(node)));
    }
    if entry.event == Event::Mark {
        fields.push(("text", text(entry.text)));
    }
    fields
}
