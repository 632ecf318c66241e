package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a report abbreviates, and what it knows of Redisson. */
class ReportTest {
    private static final String OWNER = "0f0e0d0c-0b0a-4908-8706-050403020100:1";

    private final LockwheelServer server = LockwheelServer.start(new ServerOptions().time("manual"));

    @AfterEach
    void stop() {
        server.stop();
    }

    private void assertReported(String wanted) {
        String report = server.report();
        assertTrue(report.contains(wanted), () -> wanted + " is not in\n" + report);
    }

    @Test
    void runsOfClientsAndOfCommandsAreALine() {
        InetSocketAddress address = new InetSocketAddress(server.host(), server.port());
        for (int client = 0; client < 15; client++) {
            new Connection(List.of(address), null, false).send("PING");
        }
        server.command("PING");
        server.command("CLIENT", "SETNAME", "me");
        server.command("PING");
        server.command("PING");
        server.command("PING");
        server.command("SET", "k", "v");
        server.command("PING");
        server.command("PING");
        assertReported("\nhistory:\n    1-17 0 ms connect x17 client=1-17\n");
        assertReported("\nlast commands:\n    PING (16 times, 16 clients)\n");
        assertReported("me: CLIENT SETNAME me\n    me: PING (3 times)\n    me: SET k v\n    me: PING\n    me: PING\n");
    }

    /** Takes a lock as Redisson does without a lease time of the caller's own. */
    private void lockAsRedisson(String key) {
        String script = "redis.call('hset', KEYS[1], ARGV[1], 1); redis.call('pexpire', KEYS[1], 30000)";
        server.command("EVAL", script, 1, key, OWNER);
    }

    @Test
    void aLockThatTheWatchdogDidNotRenewIsTold() {
        lockAsRedisson("order:42");
        lockAsRedisson("order:43");
        assertFalse(server.report().contains("note: "), "nothing is lost");
        server.clock().advance(Duration.ofSeconds(30));
        assertReported("\nfindings:\n    ok\n    note: order:42 and 1 more were lost by expiry after the clock ");
    }

    @Test
    void withoutAHistoryTheVerdictIsTold() {
        server.command("CONFIG", "SET", "lock-history", "no");
        assertReported("\nfindings:\n    inconclusive");
    }

    @Test
    void aLeaseOfAnotherClientIsNoMatterOfTheWatchdog() {
        server.command("LOCK.ACQUIRE", "order:42", OWNER, "PX", 1000);
        server.command("SET", "order:43", "me", "NX", "PX", 1000);
        server.clock().advance(Duration.ofSeconds(1));
        assertFalse(server.report().contains("note: "), "no lock of Redisson was lost");
    }
}
