package io.lockwheel;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntPredicate;
import java.util.function.Supplier;

/**
 * A connection to the server, of a topology to the first that lives. Its first request opens it, and so does one after
 * it was cut. One request at a time: others wait. An interrupt of the thread that waits for a reply cuts it.
 */
final class Connection implements Closeable {
    /** How many milliseconds a server has to answer a probe where another can be asked; doubled each round. */
    private static final int PROBE_LIMIT = 1000;
    /** By how much this limit is divided for a server that did not answer the last time. */
    private static final int HANGING_SHARE = 10;

    /** By their places. */
    private final List<InetSocketAddress> servers;
    private final String password;
    private final Supplier<String> end;
    /**
     * Whether its requests steer: in a topology the server has to answer something before each of them. A sentinel that
     * promotes a replica cuts the replica's clients, and the end of a connection may come after the next request.
     */
    private final boolean isSteering;
    /** Also closed by other threads than the one that reads. */
    private volatile Link link;
    /** Whether rules for faults leave out what it sends. */
    private boolean isExempt = true;
    /** The places of the servers that live and were passed over, since they did not answer or refused all. */
    private final Set<Integer> hanging = ConcurrentHashMap.newKeySet();
    /** Whether a server has not answered within the limit, the last time that all were asked. */
    private boolean isLate;

    /** The password may be null. */
    Connection(List<InetSocketAddress> servers, String password, boolean isSteering) {
        this(servers, password, isSteering, () -> "");
    }

    /** The password may be null; {@code end} says how the servers have ended, as a beginning of an error. */
    Connection(List<InetSocketAddress> servers, String password, boolean isSteering, Supplier<String> end) {
        this.servers = servers;
        this.password = password;
        this.isSteering = isSteering;
        this.end = end;
    }

    /**
     * Sends a request and waits for its reply; a {@link ReplyException} when the server refuses it. A request that
     * steers a topology is sent again to another server when the server that had it was killed before it answered, or
     * refused all.
     */
    Object send(Object... args) {
        return sendUntil(this::isLiving, isSteering, args);
    }

    /** Sends a request that only waits. In a topology it is sent again whenever its connection was cut. */
    Object await(Object... args) {
        return sendUntil(place -> false, isSteering, args);
    }

    /** Opens a link to a server that answers. */
    void prepare() {
        sendUntil(this::isLiving, true, "PING");
    }

    /**
     * Sends a request again while the server that had it has not answered and {@code isOver} says no. In haste a server
     * that refuses all is passed over.
     */
    private synchronized Object sendUntil(IntPredicate isOver, boolean hastily, Object... args) {
        ByteBuffer request = Resp.request(args);
        boolean isHasty = hastily && servers.size() > 1;
        List<Integer> refused = new ArrayList<>();
        ReplyException refusal = null;
        while (true) {
            Link asked = opened(isHasty, refused);
            if (asked == null) {
                throw refusal;
            }
            try {
                return asked.exchange(request.duplicate());
            } catch (ReplyException error) {
                if (!isHasty || !error.isOfHangingServer()) {
                    throw error;
                }
                refusal = refusal == null ? error : refusal;
                refused.add(asked.place);
                hanging.add(asked.place);
            } catch (IOException error) {
                close();
                boolean isEnded = error instanceof AsynchronousCloseException;
                if (isEnded || !isSteering || servers.size() == 1 || isOver.test(asked.place)) {
                    throw failure(asked.place, error);
                }
            }
        }
    }

    /** The place of the server that answers. */
    synchronized int place() {
        return opened(isSteering && servers.size() > 1, List.of()).place;
    }

    /** Whether a server lives and was passed over. */
    boolean isHanging(int place) {
        return hanging.contains(place);
    }

    InetSocketAddress address(int place) {
        return servers.get(place);
    }

    /** Whether rules for faults leave out what it sends from now on. */
    synchronized void setExempt(boolean isExempt) {
        if (this.isExempt != isExempt) {
            this.isExempt = isExempt;
            close();
        }
    }

    /** Closes it if it is to a server that was killed, of which the end may not have come yet. */
    void leave(int place) {
        Link current = link;
        if (current != null && current.place == place) {
            close();
        }
    }

    /** Ends it: a request that waits for its reply fails. */
    @Override
    public void close() {
        Link ended = link;
        link = null;
        if (ended != null) {
            ended.close();
        }
    }

    /**
     * The link to the first server that lives. When a topology seems to have none it looks again: a sentinel that
     * promotes a replica may have cut the connection to that.
     *
     * <p>In haste a server that hangs, or refuses all, is passed over if another one answers; if none does, the servers
     * are asked again with twice the limit. After a refusal the others are asked once: null if none answers.
     */
    private Link opened(boolean isHasty, List<Integer> refused) {
        int limit = isHasty ? PROBE_LIMIT : 0;
        for (int turn = 0; ; turn++) {
            try {
                return openedOnce(limit << turn, refused);
            } catch (UncheckedIOException none) {
                boolean isEnded = none.getCause() instanceof AsynchronousCloseException;
                if (isEnded || servers.size() == 1 || turn > 0 && !isLate) {
                    throw none;
                }
            }
        }
    }

    /** Throws the first server's error when none lives. A refusal, as of a password, is no death. */
    private Link openedOnce(int limit, List<Integer> refused) {
        UncheckedIOException first = null;
        Link refusing = null;
        isLate = false;
        for (int place = 0; place < servers.size(); place++) {
            if (refused.contains(place)) {
                continue;
            }
            try {
                Link found = reached(place, limit);
                if (limit == 0 || !found.isRefusing) {
                    discard(refusing);
                    return used(found);
                }
                if (refusing == null && refused.isEmpty()) {
                    refusing = found;
                } else {
                    discard(found);
                }
            } catch (IOException error) {
                isLate |= error instanceof SocketTimeoutException;
                first = first == null ? failure(place, error) : first;
            }
        }
        if (refusing != null) {
            return used(refusing);
        }
        close();
        if (refused.isEmpty()) {
            throw first;
        }
        return null;
    }

    /** Goes on with a link, and closes the one before. */
    private Link used(Link found) {
        if (link != found) {
            close();
            link = found;
        }
        return found;
    }

    /** Closes a link that is not the one in use. */
    private void discard(Link found) {
        if (found != null && found != link) {
            found.close();
        }
    }

    /** A link to a server that lives; notes whether the server hangs. */
    private Link reached(int place, int limit) throws IOException {
        try {
            Link found = probed(place, hanging.contains(place) ? limit / HANGING_SHARE : limit);
            note(place, found.isRefusing);
            return found;
        } catch (IOException error) {
            note(place, error instanceof SocketTimeoutException);
            throw error;
        }
    }

    private void note(int place, boolean isHanging) {
        if (isHanging) {
            hanging.add(place);
        } else {
            hanging.remove(place);
        }
    }

    private Link probed(int place, int limit) throws IOException {
        Link current = link;
        if (current == null || current.place != place || current.isCut()) {
            return dial(place, limit);
        }
        if (servers.size() == 1 || limit == 0 && !isSteering) {
            return current;
        }
        try {
            sayExempt(current, limit);
            return current;
        } catch (SocketTimeoutException late) {
            close();
            throw late;
        } catch (IOException cut) {
            return dial(place, limit);
        }
    }

    /**
     * Connects and logs in. A server that was killed lets clients in and cuts them at once, so in a topology the server
     * also has to answer, within a limit in milliseconds that is not 0.
     */
    private Link dial(int place, int limit) throws IOException {
        Link dialled = new Link(place, servers.get(place), limit);
        try {
            if (password != null) {
                dialled.exchange(Resp.request("AUTH", password));
            }
            if (isExempt || servers.size() > 1) {
                sayExempt(dialled, limit);
            }
            dialled.limit(0);
            return dialled;
        } catch (IOException | RuntimeException error) {
            dialled.close();
            throw error;
        }
    }

    private void sayExempt(Link to, int limit) throws IOException {
        to.limit(limit);
        to.isRefusing = false;
        try {
            to.exchange(Resp.request("FAULT.EXEMPT", isExempt ? "ON" : "OFF"));
        } catch (ReplyException refusal) {
            if (isShutOut(refusal)) {
                throw refusal;
            }
            // A server that cannot be steered has no faults either.
            to.isRefusing = refusal.isOfHangingServer();
        } finally {
            to.limit(0);
        }
    }

    /** Whether the server lets no more clients in, and has closed the connection. */
    private static boolean isShutOut(ReplyException refusal) {
        return refusal.getMessage().contains("max number of clients reached");
    }

    /** Whether a server of the topology answers, or hangs. */
    private boolean isLiving(int place) {
        try {
            dial(place, PROBE_LIMIT).close();
            return true;
        } catch (ReplyException | SocketTimeoutException hangs) {
            return true;
        } catch (IOException dead) {
            return false;
        }
    }

    private UncheckedIOException failure(int place, IOException error) {
        return new UncheckedIOException("the server at " + servers.get(place) + ": " + end.get() + error, error);
    }
}
