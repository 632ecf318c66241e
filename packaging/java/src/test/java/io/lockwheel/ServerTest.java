package io.lockwheel;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A server from its start to its end. */
class ServerTest {
    @Test
    void aServerIsWhereItSaysAndAnswers() {
        try (LockwheelServer server = LockwheelServer.start()) {
            assertEquals("redis://127.0.0.1:" + server.port(), server.url());
            List<?> told = (List<?>) server.command(
                    "EVAL", "return {1, 'two', false, {redis.error_reply('ERR four')}, {'a', 2}}", 0);
            assertEquals(Arrays.asList(1L, "two", null), told.subList(0, 3));
            assertInstanceOf(ReplyException.class, ((List<?>) told.get(3)).get(0));
            assertEquals(List.of("a", 2L), told.get(4));
            assertEquals("ERR", assertThrows(ReplyException.class, () -> server.command("GET")).code());
            assertThrows(IllegalArgumentException.class, () -> server.command("SET", "k", null));
            byte[] bytes = {(byte) 0xff, 0, '\r', '\n'};
            server.command("SET", "bytes", bytes);
            assertTrue(Arrays.equals(bytes, (byte[]) server.command("GET", "bytes")));
            String large = "ä".repeat(100_000);
            assertEquals(large, server.command("ECHO", large));
        }
    }

    @Test
    void repliesOfTheThirdProtocolAreRead() {
        try (LockwheelServer server = LockwheelServer.start()) {
            assertEquals(3L, ((Map<?, ?>) server.command("HELLO", 3)).get("proto"));
            server.command("ZADD", "z", 1.5, "m");
            assertEquals(1.5, server.command("ZSCORE", "z", "m"));
            server.command("SADD", "s", "a");
            assertEquals(Set.of("a"), server.command("SMEMBERS", "s"));
            assertEquals(true, server.command("DEBUG", "PROTOCOL", "TRUE"));
            assertEquals(new BigInteger("1234567999999999999999999999999999999"),
                    server.command("DEBUG", "PROTOCOL", "BIGNUM"));
            assertEquals("This is a verbatim\nstring", server.command("DEBUG", "PROTOCOL", "VERBATIM"));
        }
    }

    @Test
    void optionsReachTheServer() {
        ServerOptions options = new ServerOptions()
                .time(Instant.parse("2030-01-01T00:00:00.500Z"))
                .seed(7)
                .args("--maxclients", "99");
        List<Object> drawn = IntStream.range(0, 2).mapToObj(turn -> draw(options)).toList();
        assertEquals(drawn.get(0), drawn.get(1));
        assertNotEquals(drawn.get(0), draw(options.seed(8)));
    }

    private static Object draw(ServerOptions options) {
        try (LockwheelServer server = LockwheelServer.start(options)) {
            ClockInfo info = server.clock().info();
            assertEquals("manual", info.mode());
            assertEquals(Instant.parse(options.time()), info.wall());
            assertEquals(List.of("maxclients", "99"), server.command("CONFIG", "GET", "maxclients"));
            IntStream.range(0, 100).forEach(member -> server.command("SADD", "s", member));
            return server.command("SRANDMEMBER", "s", 20);
        }
    }

    @Test
    void aPasswordIsInTheAddressAndKnownToAllConnections() throws IOException {
        ServerOptions options = new ServerOptions().args("--requirepass", "s p:@/ä");
        try (LockwheelServer server = LockwheelServer.start(options)) {
            assertEquals("redis://:s%20p%3A%40%2F%C3%A4@127.0.0.1:" + server.port(), server.url());
            assertEquals("s p:@/ä", server.password());
            try (Socket stranger = new Socket(server.host(), server.port())) {
                stranger.getOutputStream().write("PING\r\n".getBytes());
                assertTrue(new String(stranger.getInputStream().readNBytes(7)).startsWith("-NOAUTH"));
            }
            server.command("SET", "k", "v");
            server.await().key("k", KeyState.EXISTS);
            server.reset();
            assertEquals(0L, server.command("DBSIZE"));
            assertTrue(server.report().contains("mode=real"), server.report());
            assertFalse(server.report().contains("s p:@/ä"), server.report());
        }
    }

    @Test
    void resetMakesAServerAsItWasAtItsStart() throws IOException {
        try (LockwheelServer server = LockwheelServer.start(new ServerOptions().time("manual"));
                Socket client = new Socket(server.host(), server.port())) {
            server.command("SET", "k", "v");
            server.command("CONFIG", "SET", "maxclients", 50);
            server.clock().resume();
            server.resetKeepingClients();
            assertEquals(0L, server.command("DBSIZE"));
            client.getOutputStream().write("PING\r\n".getBytes());
            assertEquals('+', client.getInputStream().read());
            server.command("SET", "k", "v");
            server.reset();
            client.getInputStream().readAllBytes(); // it ends
            assertEquals(0L, server.command("DBSIZE"));
            assertNotEquals(List.of("maxclients", "50"), server.command("CONFIG", "GET", "maxclients"));
            assertEquals("manual", server.clock().info().mode());
        }
    }

    @Test
    void theConnectionOpensAgainWhenItWasCut() {
        try (LockwheelServer server = LockwheelServer.start()) {
            Object id = server.command("CLIENT", "ID");
            InetSocketAddress address = new InetSocketAddress(server.host(), server.port());
            try (Connection other = new Connection(List.of(address), null, false)) {
                other.send("CLIENT", "KILL", "SKIPME", "yes");
            }
            assertNotEquals(id, untilAnswered(() -> server.command("CLIENT", "ID")));
        }
    }

    /** The end of the old connection may still be on its way. */
    private static Object untilAnswered(Supplier<Object> command) {
        while (true) {
            try {
                return command.get();
            } catch (UncheckedIOException cut) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void aCommandThatWaitsHoldsUpNeitherResetNorReport() {
        try (LockwheelServer server = LockwheelServer.start()) {
            CompletableFuture<Object> waiting =
                    CompletableFuture.supplyAsync(() -> server.command("BLPOP", "list", 0));
            server.await().blocked(1);
            assertTrue(server.report().contains("cmd=blpop"), server.report());
            server.reset();
            assertThrows(Exception.class, waiting::get);
        }
    }

    @Test
    void aServerThatDoesNotStartSaysWhy() {
        ServerOptions wrong = new ServerOptions().args("--no-such-parameter", "1");
        StartException error = assertThrows(StartException.class, () -> LockwheelServer.start(wrong));
        assertTrue(error.getMessage().contains("no-such-parameter"), error.getMessage());
        ServerOptions absent = new ServerOptions().binary(Path.of("/no/such/program"));
        error = assertThrows(StartException.class, () -> LockwheelServer.start(absent));
        assertTrue(error.getMessage().startsWith("/no/such/program does not start: "), error.getMessage());
    }

    @Test
    void aServerThatHasEndedSaysSo() {
        LockwheelServer server = LockwheelServer.start();
        server.stop();
        server.stop();
        assertFalse(server.isRunning());
        assertThrows(UncheckedIOException.class, () -> server.command("PING"));
        String report = server.report();
        assertTrue(report.contains("clock:\n    the server at"), report);
        assertTrue(report.contains("Ready to accept connections"), report);
    }

    @Test
    void aServerThatNobodyStopsDoesNotOutliveItsProcess() throws IOException {
        Process parent = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Forgetful.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        int port = Integer.parseInt(parent.inputReader().readLine());
        try (Socket client = new Socket("127.0.0.1", port)) {
            // A connection that the server had not accepted would be reset at its end.
            client.getOutputStream().write("PING\r\n".getBytes(UTF_8));
            assertEquals("+PONG\r\n", new String(client.getInputStream().readNBytes(7), UTF_8));
            parent.destroyForcibly();
            assertEquals(-1, client.getInputStream().read());
        }
    }

    /** A program that starts a server and stops neither it nor itself. */
    static final class Forgetful {
        public static void main(String[] args) throws InterruptedException {
            System.out.println(LockwheelServer.start().port());
            Thread.currentThread().join();
        }
    }
}
