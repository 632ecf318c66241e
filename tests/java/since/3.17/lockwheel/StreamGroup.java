package lockwheel;

// The package of several of these has changed with 4.0.
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.redisson.api.*;
import org.redisson.api.stream.*;

/** Streams with groups, the client's objects built on them, and time series. */
public final class StreamGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("stream.all", StreamGroup::stream));
        scenarios.add(new Scenario("stream.waits", StreamGroup::waits));
        scenarios.add(new Scenario("reliable-topic.all", StreamGroup::reliableTopic));
        scenarios.add(new Scenario("time-series.all", StreamGroup::timeSeries));
    }

    private static void stream(Scene scene) throws Throwable {
        RStream<String, String> stream = scene.a().getStream(scene.name());
        StreamMessageId first = new StreamMessageId(1, 1);
        StreamMessageId second = new StreamMessageId(1, 2);
        stream.add(first, StreamAddArgs.entry("a", "1"));
        stream.add(second, StreamAddArgs.entries(Map.of("b", "2")));
        StreamMessageId third = stream.add(StreamAddArgs.entry("c", "3"));
        Check.equal(3L, stream.size());
        Check.equal(Map.of(first, Map.of("a", "1"), second, Map.of("b", "2")), stream.range(first, second));
        Check.equal(1, stream.range(1, StreamMessageId.MIN, StreamMessageId.MAX).size());
        Check.equal(third, stream.rangeReversed(1, StreamMessageId.MAX, StreamMessageId.MIN).keySet().iterator().next());
        Check.equal(Map.of("b", "2"), stream.read(StreamReadArgs.greaterThan(first).count(1)).get(second));
        scene.raw().text("XGROUP", "CREATE", scene.name(), "group", "0");
        Map<StreamMessageId, Map<String, String>> got =
                stream.readGroup("group", "alice", StreamReadGroupArgs.neverDelivered().count(2));
        Check.equal(2, got.size());
        Check.equal(1L, stream.ack("group", first));
        Check.equal(1L, stream.getPendingInfo("group").getTotal());
        Check.equal(
                second,
                stream.listPending("group", StreamMessageId.MIN, StreamMessageId.MAX, 9).get(0).getId());
        Check.equal(
                Map.of(second, Map.of("b", "2")),
                stream.claim("group", "bob", 0, TimeUnit.MILLISECONDS, second));
        Check.equal(1, stream.autoClaim("group", "carol", 0, TimeUnit.MILLISECONDS, StreamMessageId.MIN, 9)
                .getMessages().size());
        Check.equal("group", stream.listGroups().get(0).getName());
        Check.equal(3, stream.getInfo().getLength());
        Check.equal(1L, stream.remove(second));
        Check.equal(1L, stream.trim(StreamTrimArgs.maxLen(1).noLimit()));
        Check.equal(1L, stream.size());
    }

    private static void waits(Scene scene) throws Throwable {
        RStream<String, String> stream = scene.a().getStream(scene.name());
        Task<Integer> reader = scene.start(() -> stream.read(
                StreamReadArgs.greaterThan(StreamMessageId.NEWEST)
                        .timeout(java.time.Duration.ofMillis(scene.patience()))).size());
        QueueGroup.untilBlocked(scene, scene.raw(), "client-a", "xread", 1);
        scene.b().<String, String>getStream(scene.name()).add(StreamAddArgs.entry("a", "1"));
        Check.equal(1, reader.get());
    }

    private static void reliableTopic(Scene scene) throws Throwable {
        RReliableTopic a = scene.a().getReliableTopic(scene.name());
        RReliableTopic b = scene.b().getReliableTopic(scene.name());
        List<String> got = new CopyOnWriteArrayList<>();
        String listener = a.addListener(String.class, (channel, text) -> got.add(text));
        Check.equal(1L, b.publish("one"));
        b.publish("two");
        scene.until("both messages are there", () -> Set.copyOf(got).equals(Set.of("one", "two")));
        Check.equal(1, a.countListeners());
        a.removeListener(listener);
        Check.equal(0, a.countListeners());
    }

    private static void timeSeries(Scene scene) throws Throwable {
        var series = scene.a().getTimeSeries(scene.name());
        for (int i = 1; i <= 5; i++) {
            series.add(i * 10L, "value " + i);
        }
        Check.equal(5, series.size());
        Check.equal("value 2", series.get(20));
        Check.equal("value 1", series.first());
        Check.equal("value 5", series.last());
        Check.equal(50L, series.lastTimestamp());
        Check.equal(List.of("value 2", "value 3"), List.copyOf(series.range(20, 30)));
        Check.equal(List.of("value 3", "value 2"), List.copyOf(series.rangeReversed(20, 30)));
        Check.equal("value 1", series.pollFirst());
        Check.equal(2, series.removeRange(20, 30));
        Check.that(series.remove(40) && !series.remove(40), "removed once");
        Check.equal(1, series.size());
        var leased = scene.b().getTimeSeries(scene.name("leased"));
        leased.add(1, "leased", 1, TimeUnit.HOURS);
        Check.equal("leased", leased.get(1));
    }
}
