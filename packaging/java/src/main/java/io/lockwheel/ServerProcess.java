package io.lockwheel;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static java.nio.charset.StandardCharsets.UTF_8;

/** The server's process: how it is started, when it is ready, what it says, how it ends. */
final class ServerProcess {
    /** Parameters that this package sets. */
    static final List<String> OWN = List.of(
            "port", "bind", "loglevel", "time", "seed", "lock-history", "slowlog-log-slower-than", "slowlog-max-len");
    private static final Pattern READY = Pattern.compile("Ready to accept connections.*\\bport=(\\d+)");
    /** What a server says of a unix socket, behind what it says of its port. */
    private static final Pattern SOCKET = Pattern.compile("The server is now ready to accept connections at (.+)");
    /** What a topology says of each of its servers, before it is ready. */
    private static final Pattern MEMBER = Pattern.compile("(master|replica|sentinel) \\[?(\\S+?)]?:(\\d+)");
    /** How many seconds a server has to end by itself. */
    private static final int GRACE = 5;
    /** What Java says of {@code ETXTBSY}. */
    private static final String TEXT_FILE_BUSY = "error=26";
    private static final int ATTEMPTS_MAX = 50;

    private final Process process;
    private final Log log = new Log();
    private final Path program;
    /** The servers of a topology. */
    private final List<Member> members = new ArrayList<>();
    private final String password;
    private volatile boolean isStopped;
    /** The address to connect to: that of a topology's first server. */
    final String host;
    /** The port without TLS. */
    final int port;

    /** Starts it and returns when it accepts connections. */
    ServerProcess(ServerOptions options) {
        if (options.args().contains("--sentinel")) {
            throw new IllegalArgumentException(
                    "args have --sentinel: a sentinel does not say that it is ready; topology 'sentinel 3' has some");
        }
        program = Program.find(options.binary());
        password = options.parameter("requirepass");
        boolean hasPortFile = Tls.isWanted(options) || options.parameter("unixsocket") != null;
        Path ports = hasPortFile ? temporaryFolder() : null;
        process = launch(command(options, ports));
        BufferedReader output = new BufferedReader(process.inputReader(UTF_8));
        try {
            port = awaitPort(output);
        } catch (IOException | RuntimeException error) {
            process.destroyForcibly();
            throw error instanceof RuntimeException known ? known : new StartException(program + ": " + error, error);
        } finally {
            remove(ports);
        }
        host = members.isEmpty() ? options.host() : members.get(0).host();
        // A pipe that nobody empties would stop the server.
        Thread reader = new Thread(() -> read(output), "lockwheel-log");
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Starts it, also where it was unpacked only now: a process that another thread starts at that moment has the file
     * open, as if to write it, until it has become another program.
     */
    private Process launch(List<String> command) {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        for (int attempt = 1; ; attempt++) {
            try {
                Process started = builder.start();
                started.getOutputStream().close();
                return started;
            } catch (IOException error) {
                if (attempt == ATTEMPTS_MAX || !error.getMessage().contains(TEXT_FILE_BUSY)) {
                    throw new StartException(program + " does not start: " + error.getMessage(), error);
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(attempt));
            }
        }
    }

    /** The command line; {@code ports} is a folder, or null where there is neither TLS nor a unix socket. */
    private List<String> command(ServerOptions options, Path ports) {
        List<String> command = new ArrayList<>(List.of(program.toString()));
        if (!options.topology().isEmpty()) {
            command.add("topology");
            command.addAll(List.of(options.topology().split("\\s+")));
        }
        // A configuration file stands first.
        Arguments args = new Arguments(options.args());
        command.addAll(args.leading);
        command.addAll(List.of("--port", "0", "--bind", Host.LOOPBACK));
        command.addAll(List.of("--exit-with-parent", "--loglevel", "warning"));
        command.addAll(List.of("--time", options.time(), "--seed", options.seed()));
        // What a report shows as the history of locks and as the last commands.
        command.addAll(List.of("--lock-history", "yes"));
        command.addAll(List.of("--slowlog-log-slower-than", "0", "--slowlog-max-len", "64"));
        if (ports != null) {
            // Beside TLS or a unix socket, 0 is no port unless a file waits for its number. The plain one is for
            // steering.
            command.addAll(List.of("--port-file", ports.resolve("port").toString()));
            if (Tls.isWanted(options)) {
                command.addAll(List.of("--tls-port-file", ports.resolve("tls-port").toString()));
            }
        }
        command.addAll(options.parameters());
        command.addAll(args.parameters);
        return command;
    }

    private static Path temporaryFolder() {
        try {
            return Files.createTempDirectory("lockwheel");
        } catch (IOException error) {
            throw new StartException("no temporary folder: " + error, error);
        }
    }

    /** Removes a folder with the files that the server has written there, if there is one. */
    private static void remove(Path ports) {
        if (ports != null) {
            for (String name : List.of("port", "tls-port", "")) {
                ports.resolve(name).toFile().delete();
            }
        }
    }

    private int awaitPort(BufferedReader output) throws IOException {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            log.add(line);
            Matcher member = MEMBER.matcher(line);
            if (member.matches()) {
                String host = Host.of(List.of(member.group(2)));
                members.add(new Member(member.group(1), host, Integer.parseInt(member.group(3)), password));
            }
            Matcher ready = READY.matcher(line);
            if (ready.find()) {
                return Integer.parseInt(ready.group(1));
            }
            Matcher socket = SOCKET.matcher(line);
            if (socket.find()) {
                throw new StartException("the server is ready at " + socket.group(1)
                        + " and has no port: beside a unix socket it needs --port or --port-file");
            }
        }
        process.onExit().join();
        throw new StartException("the server has ended with code " + process.exitValue() + ": " + log.said());
    }

    private void read(BufferedReader output) {
        try (output) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                log.add(line);
            }
        } catch (IOException ended) {
            // What it printed until then is kept.
        }
    }

    List<Member> members() {
        return List.copyOf(members);
    }

    boolean isRunning() {
        return process.isAlive();
    }

    /** How it has ended, as the beginning of an error; empty while it runs. */
    String end() {
        if (isRunning()) {
            return "";
        }
        return "it has ended " + (isStopped ? "by stop()" : "with code " + process.exitValue()) + ": ";
    }

    List<String> log() {
        return log.lines();
    }

    /** Ends it: asked first, and after a grace not asked any more. A second call does nothing. */
    void stop() {
        isStopped |= process.isAlive();
        process.destroy();
        boolean interrupted = Thread.interrupted();
        try {
            if (!process.waitFor(GRACE, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException hurry) {
            interrupted = true;
            process.destroyForcibly();
        }
        process.onExit().join();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
