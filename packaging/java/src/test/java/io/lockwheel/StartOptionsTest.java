package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Parameters that decide how a server is reached. */
@Timeout(60)
class StartOptionsTest {
    @TempDir
    private Path folder;

    private static LockwheelServer start(String... args) {
        return LockwheelServer.start(new ServerOptions().args(args));
    }

    private static String refused(ServerOptions options) {
        return assertThrows(StartException.class, () -> LockwheelServer.start(options)).getMessage();
    }

    @Test
    void aUnixSocketStandsBesideAFreePort() throws IOException {
        Path path = folder.resolve("x.s");
        try (LockwheelServer server = start("--unixsocket", path.toString());
                SocketChannel client = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            assertEquals("PONG", server.command("PING"));
            client.connect(UnixDomainSocketAddress.of(path));
            client.write(ByteBuffer.wrap("PING\r\n".getBytes()));
            ByteBuffer reply = ByteBuffer.allocate(7);
            client.read(reply);
            assertEquals("+PONG\r\n", new String(reply.array()));
        }
        ServerOptions topology = new ServerOptions().topology("replicas 1").args("--unixsocket", path.toString());
        try (LockwheelServer server = LockwheelServer.start(topology)) {
            assertEquals("PONG", server.command("PING"));
        }
    }

    @Test
    void aServerThatIsReadyWithoutAPortIsRefused() throws IOException {
        Path socket = folder.resolve("y.s");
        Path file = Files.writeString(folder.resolve("x.conf"), "unixsocket " + socket + "\n");
        String said = refused(new ServerOptions().args(file.toString()));
        assertTrue(said.startsWith("the server is ready at " + socket + " and has no port"), said);
        assertThrows(IllegalArgumentException.class, () -> start("--sentinel"));
    }

    @Test
    void aConfigurationFileStandsFirst() throws IOException {
        Path file = Files.writeString(folder.resolve("x.conf"), "maxclients 77\n");
        try (LockwheelServer server = start(file.toString(), "--databases", "3")) {
            assertEquals(List.of("maxclients", "77"), server.command("CONFIG", "GET", "maxclients"));
            assertEquals(List.of("databases", "3"), server.command("CONFIG", "GET", "databases"));
        }
        String said = refused(new ServerOptions().args("/no/such.conf"));
        assertTrue(said.contains("'/no/such.conf'") && !said.contains("slowlog"), said);
    }

    @Test
    void aPasswordIsReadAsTheServerReadsIt() {
        for (String word : List.of("--requirepass 'x y'", "--requirepass \"x\\x20y\"", "--REQUIREPASS  'x y' ")) {
            try (LockwheelServer server = start(word)) {
                assertEquals("x y", server.password());
                assertEquals("PONG", server.command("PING"));
            }
        }
        try (LockwheelServer server = start("--requirepass", "'xy'")) {
            assertEquals("'xy'", server.password());
            assertEquals("PONG", server.command("PING"));
        }
        try (LockwheelServer server = start("--requirepass", "")) {
            assertEquals("PONG", server.command("PING"));
            assertEquals("redis://127.0.0.1:" + server.port(), server.url());
        }
        try (LockwheelServer server = start("--save", "--requirepass", "--seed", "--seed", "5")) {
            assertEquals("--seed", server.password());
            assertEquals("PONG", server.command("PING"));
            assertTrue(server.report().contains(", seed 5\n"), server.report());
        }
    }

    @Test
    void wordsOfALineAreUnquoted() {
        assertEquals(List.of("a", "b c", "d'e"), Arguments.split(" a \"b c\" 'd\\'e'"));
        assertEquals(List.of("a\nä\\n", "x\"y"), Arguments.split("\"a\\n\\xc3\\xa4\\\\n\" \"x\\\"y\""));
        assertEquals(List.of("\\n", ""), Arguments.split("'\\n' ''"));
        assertEquals(List.of("a 'b"), Arguments.split("a 'b"));
        assertEquals(List.of("a 'b'c"), Arguments.split("a 'b'c"));
    }

    @Test
    void theAddressIsTheOneThatIsBound() throws IOException {
        assertEquals("127.0.0.1", Host.of(List.of()));
        assertEquals("127.0.0.1", Host.of(List.of("*", "-::*")));
        assertEquals("127.0.0.1", Host.of(List.of("::1 127.0.0.1")));
        assertEquals("::1", Host.of(List.of("-::1")));
        assertEquals("127.0.0.2", Host.of(List.of("127.0.0.2")));
        assumeTrue(hasLoopback6(), "no IPv6");
        try (LockwheelServer server = start("--bind", "::1")) {
            assertEquals("PONG", server.command("PING"));
            assertEquals("::1", server.host());
            assertEquals("redis://[::1]:" + server.port(), server.url());
            assertTrue(server.report().startsWith("lockwheel on [::1]:"), server.report());
        }
        ServerOptions options = new ServerOptions().topology("replicas 1").args("--bind", "::1");
        try (LockwheelServer server = LockwheelServer.start(options)) {
            assertEquals("PONG", server.command("PING"));
            Member replica = server.servers().get(1);
            assertEquals("redis://[::1]:" + replica.port(), replica.url());
        }
    }

    private static boolean hasLoopback6() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("::1"))) {
            return socket.isBound();
        } catch (IOException none) {
            return false;
        }
    }

    @Test
    void thatNoMoreClientsAreLetInIsTold() {
        try (LockwheelServer server = start("--maxclients", "1")) {
            assertEquals("PONG", server.command("PING"));
            String said = assertThrows(ReplyException.class, () -> server.clock().info()).getMessage();
            assertEquals("ERR max number of clients reached", said);
        }
    }

    @Test
    void aTopologyRefusesWhatWouldHaveNoEffect() {
        ServerOptions options = new ServerOptions();
        for (String words : List.of("cluster 3x1 --port 1", "replicas 1 --lag 5 --bind ::1")) {
            String said = assertThrows(IllegalArgumentException.class, () -> options.topology(words)).getMessage();
            assertTrue(said.endsWith("it belongs into args"), said);
        }
        options.topology("sentinel 3 --replicas 2 --lag 5");
    }
}
