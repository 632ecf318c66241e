//! The role of the process, which each line of the log contains.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::ROLE_CHANGES;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU8, Ordering};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

const STARTING: u8 = b'C';
const MASTER: u8 = b'M';
const REPLICA: u8 = b'S';
const SENTINEL: u8 = b'X';

/// Redis' letter for the role.
static ROLE: AtomicU8 = AtomicU8::new(STARTING);

pub(super) fn letter() -> char {
    ROLE.load(Ordering::Relaxed).into()
}

/// Sets the role at the start of the program. As in Redis, only a sentinel has a role already.
pub(super) fn start(config: &Config) {
    if config.is_sentinel() {
        ROLE.store(SENTINEL, Ordering::Relaxed);
    }
}

/// Sets the role once the configuration has been read and the server begins.
pub(super) fn begin() {
    // A replica sets its role itself.
    let _is_more = ROLE.compare_exchange(STARTING, MASTER, Ordering::Relaxed, Ordering::Relaxed);
}

/// Returns a layer that follows the changes of role in the engine.
pub(super) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    Changes.with_filter(Targets::new().with_target(ROLE_CHANGES, LevelFilter::INFO))
}

struct Changes;

impl<S: Subscriber> Layer<S> for Changes {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Change);
    }
}

struct Change;

impl Visit for Change {
    fn record_bool(&mut self, _: &Field, is_replica: bool) {
        ROLE.store(if is_replica { REPLICA } else { MASTER }, Ordering::Relaxed);
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
