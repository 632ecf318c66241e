package io.lockwheel;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Faults: every rule is one that the server takes, and what they do is done. */
class FaultsTest {
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final LockwheelServer server =
            LockwheelServer.start(new ServerOptions().time(Instant.parse("2030-01-01T00:00:00Z")));

    @AfterEach
    void stop() {
        server.stop();
    }

    /** A client as tests have it: faults do not spare it. */
    private Connection client() {
        Connection client = new Connection(List.of(new InetSocketAddress(server.host(), server.port())), null, false);
        client.setExempt(false);
        return client;
    }

    private CompletableFuture<Object> asked(Connection client, Object... command) {
        return CompletableFuture.supplyAsync(() -> client.send(command));
    }

    @Test
    void theServerKnowsEveryAction() {
        for (Action action : List.of(
                Action.dropRequest(),
                Action.dropRequest(SECOND),
                Action.dropReply(),
                Action.dropReply(SECOND),
                Action.delay(SECOND),
                Action.delay(SECOND, SECOND),
                Action.delayReply(SECOND),
                Action.delayReply(SECOND, SECOND),
                Action.hold(),
                Action.holdReply(),
                Action.error("ERR as asked"),
                Action.replyNull(),
                Action.replyOk(),
                Action.replyInt(-1),
                Action.replyBulk("text"),
                Action.replyBulk("bytes".getBytes(UTF_8)),
                Action.replyRaw("$x".getBytes(UTF_8)),
                Action.close(),
                Action.closeAfter(),
                Action.reset(),
                Action.resetAfter(),
                Action.slice(3),
                Action.slice(3, SECOND),
                Action.bandwidth(64),
                Action.truncate(3),
                Action.duplicate(),
                Action.losePublish(),
                Action.noScript(),
                Action.expire(),
                Action.argAdd(2, -1),
                Action.timeShift())) {
            server.faults().add("rule", action, it -> it.on("GET"));
            String words = action.words().stream().map(Replies::text).collect(Collectors.joining(" "));
            assertEquals("ON GET DO " + words, server.faults().list().get(0).rule());
            assertTrue(server.faults().remove("rule"));
            assertFalse(server.faults().remove("rule"));
        }
    }

    @Test
    void aRuleHasEveryMatcher() {
        server.faults().add("all", Action.dropReply(), it -> {
            it.prob(0.5).times(2).skip(1).result(Result.OK);
            it.on("set").key("order:*").channel("news").arg(2, "v").client(Clients.named("w*"));
        });
        server.faults().add(
                "script", Action.noScript(), it -> it.script("a".repeat(40)).client(Clients.lib("redisson")));
        server.faults().add("text", Action.error("ERR no"), it -> it.contains("hincrby").client(Clients.id(7)));
        String rule =
                "ON set KEY order:* CHANNEL news ARG 2 v CLIENTNAME w* RESULT OK SKIP 1 TIMES 2 PROB 0.5 DO DROPREPLY";
        List<Rule> rules = server.faults().list();
        assertEquals(new Rule("all", rule, 0, 0, 0, 2L, 0), rules.get(0));
        assertNull(rules.get(1).left());
        server.faults().seed(7);
        assertEquals(3, server.faults().clear());
        Faults faults = server.faults();
        assertThrows(
                IllegalArgumentException.class,
                () -> faults.add("no", Action.hold(), it -> it.client(Clients.all())));
        assertThrows(ReplyException.class, () -> faults.add("no", Action.hold(), it -> it.on("NOSUCH")));
    }

    @Test
    void aFaultMeetsAClientAndNotTheTest() {
        try (Connection client = client()) {
            server.faults().add("refuse", Action.error("ERR as asked"), it -> it.on("SET").times(1));
            assertEquals("OK", server.command("SET", "k", "test"));
            assertThrows(ReplyException.class, () -> client.send("SET", "k", "client"), "ERR as asked");
            server.await().fault("refuse", 1);
            assertEquals("OK", client.send("SET", "k", "client"));
            server.faults().exempt(false);
            server.faults().add("again", Action.error("ERR again"), it -> it.on("GET"));
            assertThrows(ReplyException.class, () -> server.command("GET", "k"), "ERR again");
            server.reset();
            assertNull(server.command("GET", "k"));
        }
    }

    @Test
    void anInterleavingInAWishedOrder() throws Exception {
        server.faults().add("writes", Action.hold(), it -> it.on("SET"));
        try (Connection one = client(); Connection other = client()) {
            CompletableFuture<Object> first = asked(one, "SET", "k", "one");
            CompletableFuture<Object> second = asked(other, "SET", "k", "other");
            server.await().held("writes", 2);
            assertEquals(0L, server.command("EXISTS", "k"));
            assertEquals(1, server.faults().go("writes", 1));
            assertEquals(1, server.faults().go("writes"));
            assertEquals(List.of("OK", "OK"), List.of(first.get(), second.get()));
        }
    }

    @Test
    void clientsFreezeAndAreCutOff() throws Exception {
        try (Connection client = client()) {
            client.send("CLIENT", "SETNAME", "frozen");
            assertEquals(1, server.faults().freezeClient(Clients.named("frozen"), SECOND));
            assertEquals(1, server.faults().thawClient(Clients.named("frozen")));
            assertEquals(1, server.faults().freezeClient(Clients.named("frozen")));
            CompletableFuture<Object> asked = asked(client, "SET", "k", "v");
            assertEquals(1, server.faults().thawClient(Clients.named("frozen")));
            assertEquals("OK", asked.get());
            assertEquals(1, server.faults().partition(Clients.all()));
            CompletableFuture<Object> cutOff = asked(client, "SET", "k", "again");
            assertEquals("v", server.command("GET", "k"), "the test itself is not cut off");
            assertEquals(1, server.faults().heal());
            assertEquals("OK", cutOff.get());
        }
    }

    @Test
    void aFailoverLosesWhatNoReplicaHas() {
        server.command("SET", "before", "x");
        server.faults().lag();
        server.command("SET", "after", "x");
        server.faults().failover();
        assertEquals(1L, server.command("EXISTS", "before", "after"));
        server.faults().lag(it -> it.key("order:*"));
        server.command("MSET", "order:1", "x", "other", "x");
        server.faults().failover(it -> it.tokens());
        assertEquals(1L, server.command("EXISTS", "order:1", "other"));
    }

    @Test
    void aRestartForgetsAndLetsNobodyIn() {
        server.command("SET", "k", "v");
        server.faults().restart(it -> it.down(SECOND));
        try (Connection client = client()) {
            assertThrows(UncheckedIOException.class, () -> client.send("PING"));
        }
        server.clock().advance(SECOND);
        assertNull(server.command("GET", "k"));
        server.command("SET", "k", "v");
        server.faults().restart(it -> it.keep());
        assertEquals("v", server.command("GET", "k"));
        server.faults().restart(it -> it.tokens().down(Duration.ZERO));
        assertEquals(0L, server.command("DBSIZE"));
    }
}
