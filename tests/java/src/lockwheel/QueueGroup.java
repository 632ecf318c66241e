package lockwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RDelayedQueue;
import org.redisson.api.RQueue;

/** Queues: plain, blocking, delayed. */
@SuppressWarnings("deprecation") // The delayed queue is deprecated in newer versions and still used.
final class QueueGroup implements Groups.Group {
    /** The milliseconds without an element after which the owner is reminded of its time. */
    private static final long WAKE_MILLIS = 2_000;

    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("delayed-queue.order", QueueGroup::delayed));
        scenarios.add(new Scenario("delayed-queue.layout", QueueGroup::delayedLayout));
        scenarios.add(new Scenario("blocking-queue.take", QueueGroup::take));
        scenarios.add(new Scenario("blocking-queue.times-out", QueueGroup::timesOut));
        scenarios.add(new Scenario("blocking-queue.several", QueueGroup::several));
        scenarios.add(new Scenario("queue.order", QueueGroup::plain));
    }

    private static void plain(Scene scene) throws Throwable {
        RQueue<String> queue = scene.a().getQueue(scene.name());
        Check.equal(null, queue.poll());
        Check.that(queue.offer("x") && queue.add("y") && queue.offer("z"), "offers are taken");
        Check.equal("x", queue.peek());
        Check.equal("x", queue.poll());
        Check.equal("z", queue.pollLastAndOfferFirstTo(scene.name("other")));
        Check.equal(List.of("z"), scene.raw().texts("LRANGE", scene.name("other"), "0", "-1"));
        Check.equal("y", scene.b().<String>getQueue(scene.name()).remove());
        Check.that(queue.isEmpty(), "nothing is left");
    }

    /** Waits until the server, or a replica, reports that a client of this name is blocked in such a command. */
    static void untilBlocked(Scene scene, Raw raw, String client, String command, long count) throws Throwable {
        List<Raw> servers = new ArrayList<>(scene.rawReplicas());
        servers.add(raw);
        scene.until(client + " is blocked in " + command, () -> {
            StringBuilder lists = new StringBuilder();
            for (Raw server : servers) {
                lists.append(server.text("CLIENT", "LIST"));
            }
            long blocked = lists.toString().lines()
                    .filter(line -> line.contains(" name=" + client + " ") && line.contains(" cmd=" + command + " "))
                    .filter(line -> line.matches(".* flags=[A-Z]*b[a-zA-Z]* .*"))
                    .count();
            return blocked >= count;
        });
    }

    /** A taker that is blocked in the server gets the element at once, and elements come in order. */
    private static void take(Scene scene) throws Throwable {
        RBlockingQueue<String> ofB = scene.b().getBlockingQueue(scene.name());
        RBlockingQueue<String> ofA = scene.a().getBlockingQueue(scene.name());
        Task<String> taker = scene.start(ofB::take);
        untilBlocked(scene, scene.raw(), "client-b", "blpop", 1);
        ofA.offer("first");
        Check.equal("first", taker.get());
        ofA.put("second");
        ofA.put("third");
        Check.equal("second", ofB.take());
        Check.equal("third", ofB.poll(scene.patience(), TimeUnit.MILLISECONDS));
    }

    private static void timesOut(Scene scene) throws Throwable {
        RBlockingQueue<String> queue = scene.a().getBlockingQueue(scene.name());
        long start = System.nanoTime();
        Check.equal(null, queue.poll(1, TimeUnit.SECONDS));
        long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        Check.that(waited >= 1000 - Scene.ROUNDING, "it waited a second, got " + waited);
    }

    private static void several(Scene scene) throws Throwable {
        RBlockingQueue<String> queue = scene.a().getBlockingQueue(scene.name());
        Task<String> any = scene.start(
                () -> queue.pollFromAny(Scene.NEVER, TimeUnit.MILLISECONDS, scene.name("second"), scene.name("third")));
        scene.b().getQueue(scene.name("third")).add("from the third");
        Check.equal("from the third", any.get());
        Task<String> moved =
                scene.start(() -> queue.pollLastAndOfferFirstTo(scene.name("to"), 1000, TimeUnit.SECONDS));
        untilBlocked(scene, scene.raw(), "client-a", "brpoplpush", 1);
        scene.b().getQueue(scene.name()).add("moved");
        Check.equal("moved", moved.get());
        Check.equal(List.of("moved"), scene.raw().texts("LRANGE", scene.name("to"), "0", "-1"));
    }

    /** Elements are delivered by their delay, not by the order of their offers, and not before their time. */
    private static void delayed(Scene scene) throws Throwable {
        RBlockingQueue<String> target = scene.b().getBlockingQueue(scene.name());
        RDelayedQueue<String> delayed = scene.a().getDelayedQueue(scene.a().<String>getBlockingQueue(scene.name()));
        long start = System.nanoTime();
        delayed.offer("late", 900, TimeUnit.MILLISECONDS);
        delayed.offer("early", 300, TimeUnit.MILLISECONDS);
        Check.equal("early", target.poll(scene.patience(), TimeUnit.MILLISECONDS));
        Check.that(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(300 - Scene.ROUNDING), "the early one is not too early");
        Check.equal("late", woken(scene, target));
        Check.that(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(900 - Scene.ROUNDING), "the late one is not too early");
        delayed.destroy();
    }

    /**
     * Returns the next element of a delayed queue. 3.6.5 sets no timer for it in one case: the answer with its time
     * comes before the requesting thread has removed its own timer. The message of an offer sets the timer then, and so
     * does this method.
     */
    private static String woken(Scene scene, RBlockingQueue<String> target) throws Throwable {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(scene.patience());
        String timeouts = "redisson_delay_queue_timeout:{" + scene.name() + "}";
        String next = target.poll(WAKE_MILLIS, TimeUnit.MILLISECONDS);
        while (next == null && System.nanoTime() < deadline) {
            List<String> head = scene.raw().texts("ZRANGE", timeouts, "0", "0", "WITHSCORES");
            if (!head.isEmpty()) {
                scene.raw().number("PUBLISH", "redisson_delay_queue_channel:{" + scene.name() + "}", head.get(1));
            }
            next = target.poll(WAKE_MILLIS, TimeUnit.MILLISECONDS);
        }
        return next;
    }

    private static void delayedLayout(Scene scene) throws Throwable {
        Raw raw = scene.raw();
        RBlockingQueue<String> target = scene.a().getBlockingQueue(scene.name());
        RDelayedQueue<String> delayed = scene.a().getDelayedQueue(target);
        delayed.offer("x", Scene.NEVER, TimeUnit.MILLISECONDS);
        delayed.offer("y", 2 * Scene.NEVER, TimeUnit.MILLISECONDS);
        Check.equal(2L, raw.number("LLEN", "redisson_delay_queue:{" + scene.name() + "}"));
        Check.equal(2L, raw.number("ZCARD", "redisson_delay_queue_timeout:{" + scene.name() + "}"));
        Check.equal(List.of("x", "y"), delayed.readAll());
        Check.that(delayed.remove("x"), "it was there");
        Check.that(!delayed.contains("x") && delayed.contains("y"), "only the other one is there");
        Check.equal(1, delayed.size());
        Check.equal("y", delayed.poll());
        Check.that(target.isEmpty(), "none came due");
        delayed.destroy();
    }
}
