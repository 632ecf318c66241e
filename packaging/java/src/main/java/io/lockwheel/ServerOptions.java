package io.lockwheel;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * How a server is started.
 *
 * @param time where its clock begins: {@code real} time, {@code manual} (now), or an instant as ISO 8601 has it; the
 *     last two stand still
 * @param seed decides every random choice of the server
 * @param args more parameters, as on the server's command line
 * @param binary the program; if null, {@code LOCKWHEEL_BINARY}, this package or PATH says
 * @param verify from which level on findings in the history fail a test
 * @param topology several servers in one process and on one clock: {@code replicas 2}, {@code sentinel 3 --replicas 2},
 *     {@code cluster 3x1}, perhaps with {@code --lag 100} behind it; empty for one server
 * @param parameters further parameters of the program, such as that of {@link #lockHandoffDelay}
 */
public record ServerOptions(
        String time, long seed, List<String> args, Path binary, Level verify, String topology, List<String> parameters)
        implements ProgramOptions {
    /** Checks them and makes them unchangeable. */
    public ServerOptions {
        Objects.requireNonNull(time, "time");
        Objects.requireNonNull(verify, "verify");
        topology = named(topology).strip();
        refuseOwn(topology);
        args = List.copyOf(Objects.requireNonNull(args, "args is a list of words, not null"));
        parameters = List.copyOf(parameters);
    }

    /** One server. */
    public ServerOptions(String time, long seed, List<String> args, Path binary, Level verify) {
        this(time, seed, args, binary, verify, "", List.of());
    }

    /** Real time, seed 0, and no more parameters. */
    public ServerOptions() {
        this("real", 0, List.of(), null, Level.OFF);
    }

    /** These, with the clock {@code real}, {@code manual}, or at an instant as ISO 8601 has it. */
    public ServerOptions time(String time) {
        return new ServerOptions(time, seed, args, binary, verify, topology, parameters);
    }

    /** These, with the clock standing still at an instant of whole milliseconds. */
    public ServerOptions time(Instant instant) {
        Milliseconds.of(instant);
        return time(instant.toString());
    }

    /** These, with another seed. */
    public ServerOptions seed(long seed) {
        return new ServerOptions(time, seed, args, binary, verify, topology, parameters);
    }

    /** These, with these parameters, as on the server's command line. */
    public ServerOptions args(String... args) {
        return new ServerOptions(time, seed, List.of(args), binary, verify, topology, parameters);
    }

    /** These, with this program. */
    public ServerOptions binary(Path binary) {
        return new ServerOptions(time, seed, args, binary, verify, topology, parameters);
    }

    /** These, with a test, or {@link LockwheelServer#check}, failing by findings from this level on. */
    public ServerOptions verify(Level verify) {
        return new ServerOptions(time, seed, args, binary, verify, topology, parameters);
    }

    /**
     * These, with several servers, which are this to one another.
     *
     * @throws IllegalArgumentException for a topology without a word, or with a parameter that {@code args} have
     */
    public ServerOptions topology(String topology) {
        if (named(topology).isBlank()) {
            throw new IllegalArgumentException(
                    "topology is 'replicas N', 'sentinel N' or 'cluster M[xN]', not '" + topology + "'");
        }
        return new ServerOptions(time, seed, args, binary, verify, topology, parameters);
    }

    @Override
    public ServerOptions with(String parameter, Object value) {
        String shown = value instanceof Duration duration
                ? String.valueOf(Milliseconds.of(duration))
                : value instanceof Boolean is ? (is ? "yes" : "no") : value.toString();
        List<String> all = new ArrayList<>(parameters);
        all.addAll(List.of("--" + parameter, shown));
        return new ServerOptions(time, seed, args, binary, verify, topology, all);
    }

    private static String named(String topology) {
        return Objects.requireNonNull(
                topology, "topology is a string such as 'sentinel 3 --replicas 1', not null");
    }

    /** Refuses, in a topology, the parameters that this package sets itself. */
    private static void refuseOwn(String topology) {
        Arguments words = new Arguments(List.of(topology.split("\\s+")));
        for (String own : ServerProcess.OWN) {
            if (words.has(own)) {
                throw new IllegalArgumentException(
                        "topology has --" + own + ", which would have no effect there: it belongs into args");
            }
        }
    }

    /** The value of a parameter among {@code args}, the last one; null if it is not there, or empty. */
    String parameter(String name) {
        List<String> values = new Arguments(args).values(name);
        return values.isEmpty() || values.get(0).isEmpty() ? null : values.get(0);
    }

    /** The address to connect to. */
    String host() {
        return Host.of(new Arguments(args).values("bind"));
    }

    /** The seed of the server: that of {@code args}, if it is there. */
    String effectiveSeed() {
        String seed = parameter("seed");
        return seed == null ? Long.toString(this.seed) : seed;
    }
}
