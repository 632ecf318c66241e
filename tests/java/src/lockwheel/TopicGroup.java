package lockwheel;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Topics and pattern topics. */
final class TopicGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("topic.messages", TopicGroup::messages));
        scenarios.add(new Scenario("topic.pattern", TopicGroup::pattern));
    }

    private static String next(Scene scene, BlockingQueue<String> received) throws InterruptedException {
        return received.poll(scene.patience(), TimeUnit.MILLISECONDS);
    }

    /** Checks the number of clients that have got a message; a node of a cluster counts its own clients only. */
    private static void received(Scene scene, long expected, long told) {
        Check.that(scene.inCluster() ? told <= expected : told == expected, told + " receivers of " + expected);
    }

    /** Two listeners of two clients get every message; the count of receivers is right; then they unsubscribe. */
    private static void messages(Scene scene) throws Throwable {
        BlockingQueue<String> atA = new LinkedBlockingQueue<>();
        BlockingQueue<String> atB = new LinkedBlockingQueue<>();
        Runnable stopA = Versions.listen(scene.a(), scene.name(), (channel, text) -> atA.add(channel + " " + text));
        Runnable stopB = Versions.listen(scene.b(), scene.name(), (channel, text) -> atB.add(channel + " " + text));
        Raw raw = scene.raw();
        Check.equal(2L, raw.subscribers(scene.name()));
        received(scene, 2, Versions.publish(scene.a(), scene.name(), "one"));
        for (BlockingQueue<String> received : List.of(atA, atB)) {
            Check.equal(scene.name() + " one", next(scene, received));
        }
        // The next message is published once the first has come: some versions hand two at once to their listeners in
        // any order.
        received(scene, 2, raw.number("PUBLISH", scene.name(), "two"));
        for (BlockingQueue<String> received : List.of(atA, atB)) {
            Check.equal(scene.name() + " two", next(scene, received));
        }
        stopA.run();
        stopB.run();
        scene.until("both have left", () -> raw.subscribers(scene.name()) == 0);
        Check.equal(0L, Versions.publish(scene.b(), scene.name(), "three"));
    }

    private static void pattern(Scene scene) throws Throwable {
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        Runnable stop =
                Versions.listenToPattern(scene.b(), scene.name("*"), (channel, text) -> received.add(channel + " " + text));
        received(scene, 1, Versions.publish(scene.a(), scene.name("red"), "one"));
        Check.equal(0L, Versions.publish(scene.a(), scene.name(), "not matched"));
        Check.equal(scene.name("red") + " one", next(scene, received));
        received(scene, 1, Versions.publish(scene.a(), scene.name("blue"), "two"));
        Check.equal(scene.name("blue") + " two", next(scene, received));
        stop.run();
        scene.until("the pattern is left", () -> Versions.publish(scene.a(), scene.name("red"), "three") == 0);
    }
}
