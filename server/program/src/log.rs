//! The log, in the format of Redis' log.

use super::log_role;
use jiff::Zoned;
use lockwheel::SIGNAL_LOG;
use lockwheel_engine::config::{Config, LogLevel};
use lockwheel_engine::core::ROLE_CHANGES;
use std::fs::File;
use std::io::{self, Write};
use std::{env, fmt, process};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

/// Returns the beginning of a log line about a signal, without a level as in Redis: process, Unix second.
fn signal_line() -> String {
    format!("{}:signal-handler ({}) ", process::id(), Zoned::now().timestamp().as_second())
}

/// Returns a log line without its line end: process, role, local time, level, text.
pub(crate) fn line(mark: char, text: &str) -> String {
    format!("{}:{} {} {mark} {text}", process::id(), log_role::letter(), stamp(&Zoned::now()))
}

/// Formats a time as Redis' log does: `21 Nov 2026 10:24:16.301`.
fn stamp(time: &Zoned) -> String {
    time.strftime("%d %b %Y %H:%M:%S.%3f").to_string()
}

pub(crate) fn open(path: &str) -> io::Result<Option<File>> {
    if path.is_empty() { Ok(None) } else { File::options().create(true).append(true).open(path).map(Some) }
}

/// The destination of the log if there is no file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Out,
    Error,
}

/// Starts logging at `loglevel` to `logfile` or a standard stream. Standard error shows only warnings beside other
/// output, unless a lower level is set. `RUST_LOG` overrides that.
pub(crate) fn start(config: &Config, stream: Stream) {
    let level = match config.loglevel {
        LogLevel::Debug => LevelFilter::TRACE,
        LogLevel::Verbose => LevelFilter::DEBUG,
        LogLevel::Notice if matches!(stream, Stream::Out) || !config.logfile.is_empty() => LevelFilter::INFO,
        LogLevel::Notice | LogLevel::Warning => LevelFilter::WARN,
    };
    let asked = env::var("RUST_LOG").ok().and_then(|asked| asked.parse::<Targets>().ok());
    let filter = asked.unwrap_or_else(|| Targets::new().with_default(level));
    let filter = filter.with_target(ROLE_CHANGES, LevelFilter::OFF);
    log_role::start(config);
    if matches!(stream, Stream::Error) {
        log_role::begin();
    }
    let path = config.logfile.clone();
    let writer = BoxMakeWriter::new(move || -> Box<dyn Write> {
        // The file is opened for each line, as in Redis: it may be moved away at any time.
        match open(&path) {
            Ok(None) => match stream {
                Stream::Out => Box::new(io::stdout()),
                Stream::Error => Box::new(io::stderr()),
            },
            Ok(Some(file)) => Box::new(file),
            Err(_) => Box::new(io::sink()),
        }
    });
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).event_format(Lines).with_writer(writer);
    // The reader of the log may have ended, which is no reason to panic.
    let lines = lines.log_internal_errors(false);
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(log_role::layer()).init();
}

/// A format of events as lines. A mark stands for debug, verbose, notice or warning.
struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mark = match *event.metadata().level() {
            Level::TRACE => '.',
            Level::DEBUG => '-',
            Level::INFO => '*',
            Level::WARN | Level::ERROR => '#',
        };
        match event.metadata().target() {
            SIGNAL_LOG => write!(writer, "{}", signal_line())?,
            _ => write!(writer, "{}", line(mark, ""))?,
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_begins_with_the_local_time() {
        let time = |text: &str| text.parse::<Zoned>().expect("a time with its zone");
        assert_eq!(stamp(&time("2026-11-21T10:24:16.301+00:00[+00:00]")), "21 Nov 2026 10:24:16.301");
        assert_eq!(stamp(&time("1970-01-01T01:00:00+01:00[+01:00]")), "01 Jan 1970 01:00:00.000");
    }
}
