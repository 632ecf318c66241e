//! LATENCY: slow events, and the duration of the calls of each command.

use crate::core::{Handler, LatencyView, PartHandler};
use crate::latency::{self, Advised, Series};
use crate::spec::{Args, Command, CommandError, Flags, Outcome, Row, quotable};
use crate::statistics::DurationHistogram;
use lockwheel_resp::Reply;
use std::sync::Arc;

const FLAGS: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE]);

pub(super) const ROWS: &[Row<Handler>] = &[Row::container("latency", -2, LATENCY)
    .about("server", "2.8.13", "Depends on subcommand.")
    .summary("Tells what took long.")];

const fn row(name: &'static str, arity: i32, handler: Handler) -> Row<Handler> {
    Row::new(name, arity, handler).flags(&[FLAGS]).about("server", "2.8.13", "O(1)").tips(&[
        "nondeterministic_output",
        "request_policy:all_nodes",
        "response_policy:special",
    ])
}

const LATENCY: &[Row<Handler>] = &[
    row("doctor", 2, Handler::Part(PartHandler::Latency(doctor)))
        .summary("Reports slow events in sentences, with advice.")
        .help(&["DOCTOR", "    Return a human readable latency analysis report."]),
    row("graph", 3, Handler::Part(PartHandler::Latency(graph)))
        .summary("Draws how long an event took.")
        .help(&["GRAPH <event>", "    Return an ASCII latency graph for the <event> class."])
        .syntax("event")
        .errors(&["ERR No samples available for event 'event'"]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "2.8.13", "O(1)")
        .summary("Explains the subcommands."),
    row("histogram", -2, Handler::Part(PartHandler::Latency(histogram)))
        .about(
            "server",
            "7.0.0",
            "O(N) where N is the number of commands with latency information being retrieved.",
        )
        .summary("Returns the latency distribution of commands.")
        .help(&[
            "HISTOGRAM [COMMAND ...]",
            "    Return a cumulative distribution of latencies in the format of a histogram for the specified \
             command names.",
            "    If no commands are specified then all histograms are replied.",
        ])
        .help_after("reset")
        .syntax("[command ...]"),
    row("history", 3, Handler::Part(PartHandler::Latency(history)))
        .summary("Returns the latency samples of an event.")
        .help(&["HISTORY <event>", "    Return time-latency samples for the <event> class."])
        .help_after("graph")
        .syntax("event"),
    row("latest", 2, Handler::Part(PartHandler::Latency(latest)))
        .summary("Returns the latest latency sample of each event.")
        .help(&["LATEST", "    Return the latest latency samples for all events."]),
    row("reset", -2, Handler::Part(PartHandler::Latency(reset)))
        .summary("Removes the latency samples of events.")
        .help(&[
            "RESET [<event> ...]",
            "    Reset latency data of one or more <event> classes.",
            "    (default: reset all data for all event classes)",
        ])
        .syntax("[event ...]")
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
];

fn doctor(view: LatencyView<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let latency = &*view.latency;
    let setting = Advised {
        threshold_ms: latency.threshold_ms(),
        slow_log_us: view.config.slowlog_log_slower_than,
        slow_log_len: view.config.slowlog_max_len,
    };
    let report = latency::report(latency.series(), setting, view.now_s);
    reply.verbatim(*b"txt", report.as_bytes());
    Ok(())
}

fn graph(view: LatencyView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let Some(series) = view.latency.find(&args[2]) else {
        let text = [b"ERR No samples available for event '", quotable(&args[2]), b"'"].concat();
        return Err(CommandError::new(text));
    };
    let graph = latency::draw(series, view.now_s);
    reply.verbatim(*b"txt", graph.as_bytes());
    Ok(())
}

fn history(view: LatencyView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let samples = view.latency.find(&args[2]).into_iter().flat_map(Series::samples);
    reply.array(samples.clone().count());
    for sample in samples {
        reply.array(2);
        reply.integer(sample.unix_time);
        reply.integer(sample.took_ms as i64);
    }
    Ok(())
}

fn latest(view: LatencyView<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let all = view.latency.series();
    reply.array(all.len());
    for series in all {
        reply.array(4);
        reply.bulk(series.event.name().as_bytes());
        let (unix_time, took_ms) =
            series.latest().map_or((0, 0), |sample| (sample.unix_time, sample.took_ms));
        reply.integer(unix_time);
        reply.integer(took_ms as i64);
        reply.integer(series.longest_ms as i64);
    }
    Ok(())
}

fn reset(LatencyView { latency, .. }: LatencyView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.integer(latency.forget(args.from(2)) as i64);
    Ok(())
}

/// Writes the histograms of the named commands, or of all that were called. A container means its subcommands.
fn histogram(view: LatencyView<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let commands: Vec<&Arc<Command>> = match args.from(2) {
        [] => view.commands.iter_all().collect(),
        names => {
            let named = names.iter().filter_map(|name| view.commands.find_full(name));
            named.flat_map(|command| std::iter::once(command).chain(&command.subcommands)).collect()
        }
    };
    let called: Vec<(&str, &DurationHistogram)> = commands
        .into_iter()
        .map(|command| (command.name.as_str(), view.stats.durations(command.id)))
        .filter(|(_, durations)| durations.calls() > 0)
        .collect();
    reply.map(called.len());
    for (name, durations) in called {
        reply.bulk(name.as_bytes());
        write_histogram(durations, reply);
    }
    Ok(())
}

fn write_histogram(durations: &DurationHistogram, reply: &mut dyn Reply) {
    reply.map(2);
    reply.bulk(b"calls");
    reply.integer(durations.calls() as i64);
    reply.bulk(b"histogram_usec");
    let octaves = durations.by_octave();
    reply.map(octaves.len());
    for (us, calls) in octaves {
        reply.integer(us as i64);
        reply.integer(calls as i64);
    }
}
