package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Servers of a topology that hang: control goes to one that answers. */
class HangingTest {
    private static final String OK = "+OK\r\n";
    private static final String BUSY = "-BUSY Redis is busy running a script.\r\n";

    private static LockwheelServer start(String... args) {
        return LockwheelServer.start(new ServerOptions().topology("sentinel 3 --replicas 1").time("manual").args(args));
    }

    private static Connection client(LockwheelServer server, int place) {
        Member member = server.servers().get(place);
        return new Connection(List.of(new InetSocketAddress(member.host(), member.port())), null, false);
    }

    private static CompletableFuture<Object> begun(Connection client, Object... args) {
        return CompletableFuture.supplyAsync(() -> client.send(args));
    }

    /** Control goes to the second server, which takes over meanwhile. */
    private static void assertSteeredByTheSecond(LockwheelServer server) {
        assertTrue(server.clock().advance(Duration.ofMinutes(1)).fired() > 0);
        try (Connection second = client(server, 1)) {
            assertEquals("master", ((List<?>) second.send("ROLE")).get(0));
        }
        server.await().key("k", KeyState.GONE);
        Member told = server.servers().get(1);
        String title = "server 0 hangs: server 1 (" + Host.withPort(told.host(), told.port()) + ") tells";
        assertEquals(title, server.report().split("\n")[1]);
    }

    @Test
    void controlPassesOverAServerThatIsSilent() {
        try (LockwheelServer server = start("--enable-debug-command", "yes");
                Connection sleeping = client(server, 0);
                Connection second = client(server, 1)) {
            CompletableFuture<Object> sleep = begun(sleeping, "DEBUG", "SLEEP", 3600);
            // The history of another server leaves out one that hangs.
            while (!Entries.read(second.send("LOCK.HISTORY", "COUNT", 0)).truncated()) {
                Thread.onSpinWait();
            }
            assertSteeredByTheSecond(server);
            server.faults().down(0);
            sleep.handle((reply, error) -> null).join();
            server.faults().up(0);
            assertFalse(server.report().contains("server 0 hangs"));
        }
    }

    @Test
    void controlPassesOverAServerThatRefusesAll() {
        try (LockwheelServer server = start("--busy-reply-threshold", "1");
                Connection hanging = client(server, 0);
                Connection other = client(server, 0)) {
            CompletableFuture<Object> script = begun(hanging, "EVAL", "while true do end", 0);
            assertThrows(ReplyException.class, () -> {
                while (true) {
                    other.send("PING");
                }
            });
            assertSteeredByTheSecond(server);
            // A command is asked of the first one that lives.
            assertEquals("BUSY", assertThrows(ReplyException.class, () -> server.command("PING")).code());
            assertEquals("OK", server.command("SCRIPT", "KILL"));
            script.handle((reply, error) -> null).join();
            assertFalse(server.report().contains("server 0 hangs"));
        }
    }

    /** A server that answers a request by what its connection's number and its name make; empty: nothing. */
    private static final class Fake implements Closeable {
        private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final Queue<String> asked = new ConcurrentLinkedQueue<>();
        private final BiFunction<Integer, String, String> replies;

        Fake(BiFunction<Integer, String, String> replies) throws IOException {
            this.replies = replies;
            Thread server = new Thread(this::serve);
            server.setDaemon(true);
            server.start();
        }

        private void serve() {
            try {
                for (int number = 0; ; number++) {
                    Socket socket = listener.accept();
                    int own = number;
                    Thread connection = new Thread(() -> answer(socket, own));
                    connection.setDaemon(true);
                    connection.start();
                }
            } catch (IOException closed) {
                // The test has ended.
            }
        }

        private void answer(Socket socket, int number) {
            try (socket) {
                byte[] piece = new byte[4096];
                for (int length = socket.getInputStream().read(piece);
                        length > 0;
                        length = socket.getInputStream().read(piece)) {
                    String name = new String(piece, 0, length, UTF_8).split("\r\n")[2];
                    asked.add(name);
                    socket.getOutputStream().write(replies.apply(number, name).getBytes(UTF_8));
                }
            } catch (IOException closed) {
                // The client has ended it.
            }
        }

        long count(String name) {
            return asked.stream().filter(name::equals).count();
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }

    private static Connection steering(Fake... servers) {
        List<InetSocketAddress> addresses = Stream.of(servers)
                .map(fake -> (InetSocketAddress) fake.listener.getLocalSocketAddress())
                .toList();
        return new Connection(addresses, null, true);
    }

    private static Fake dead() throws IOException {
        Fake fake = healthy();
        fake.close();
        return fake;
    }

    private static Fake healthy() throws IOException {
        return new Fake((number, name) -> OK);
    }

    private static Fake silent() throws IOException {
        return new Fake((number, name) -> "");
    }

    private static Fake refusing() throws IOException {
        return new Fake((number, name) -> name.equals("FAULT.EXEMPT") ? OK : BUSY);
    }

    @Test
    void aServerThatHasEndedSaysSo() {
        LockwheelServer server = LockwheelServer.start();
        server.stop();
        String said = assertThrows(UncheckedIOException.class, () -> server.clock().info()).getMessage();
        assertTrue(said.contains(": it has ended by stop(): "), said);
    }

    @Test
    void aServerIsAskedUntilOneAnswers() throws IOException {
        try (Fake late = new Fake((number, name) -> number < 2 ? "" : OK);
                Fake dead = dead();
                Connection control = steering(late, dead)) {
            assertEquals("OK", control.send("PING"));
            assertEquals(1, late.count("PING"));
        }
        try (Fake silent = silent();
                Fake last = healthy();
                Connection control = steering(silent, last)) {
            assertEquals("OK", control.await("PING"));
            assertEquals(0, silent.count("PING"));
        }
    }

    @Test
    void aRequestThatWasRefusedGoesToTheNextServer() throws IOException {
        try (Fake busy = refusing();
                Fake free = healthy();
                Connection control = steering(busy, free)) {
            assertEquals("OK", control.send("CLOCK.ADVANCE", 1));
            assertEquals(List.of(1L, 1L), List.of(busy.count("CLOCK.ADVANCE"), free.count("CLOCK.ADVANCE")));
        }
        for (Fake each : List.of(dead(), refusing(), silent())) {
            try (each;
                    Fake busy = refusing();
                    Connection control = steering(busy, each)) {
                ReplyException refusal = assertThrows(ReplyException.class, () -> control.send("CLOCK.ADVANCE", 1));
                assertEquals("BUSY", refusal.code());
            }
        }
    }
}
