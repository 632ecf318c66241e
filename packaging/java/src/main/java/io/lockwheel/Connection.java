package io.lockwheel;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * A connection to the server, of a topology to the first that lives. Its first request opens it, and so does one after
 * it was cut. One request at a time: others wait. An interrupt of the thread that waits for a reply cuts it.
 */
final class Connection implements Closeable {
    /** By their places. */
    private final List<InetSocketAddress> servers;
    private final String password;
    /**
     * Whether its requests steer: in a topology the server has to answer something before each of them. A sentinel that
     * promotes a replica cuts the replica's clients, and the end of a connection may come after the next request.
     */
    private final boolean isSteering;
    /** Also closed by other threads than the one that reads. */
    private volatile Link link;
    /** Whether rules for faults leave out what it sends. */
    private boolean isExempt = true;

    /** The password may be null. */
    Connection(List<InetSocketAddress> servers, String password, boolean isSteering) {
        this.servers = servers;
        this.password = password;
        this.isSteering = isSteering;
    }

    /**
     * Sends a request and waits for its reply; a {@link ReplyException} when the server refuses it. A request that
     * steers a topology is sent again to another server when the server that had it was killed before it answered.
     */
    Object send(Object... args) {
        return sendUntil(this::isLiving, args);
    }

    /** Sends a request that only waits. In a topology it is sent again whenever its connection was cut. */
    Object await(Object... args) {
        return sendUntil(place -> false, args);
    }

    /** Sends a request again while the server that had it has not answered and {@code isOver} says no. */
    private synchronized Object sendUntil(IntPredicate isOver, Object... args) {
        ByteBuffer request = Resp.request(args);
        while (true) {
            Link asked = opened();
            try {
                return asked.exchange(request.duplicate());
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
        return opened().place;
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
     */
    private Link opened() {
        try {
            return openedOnce();
        } catch (UncheckedIOException none) {
            if (servers.size() == 1 || none.getCause() instanceof AsynchronousCloseException) {
                throw none;
            }
            return openedOnce();
        }
    }

    /** Throws the first server's error when none lives. A refusal, as of a password, is no death. */
    private Link openedOnce() {
        UncheckedIOException first = null;
        for (int place = 0; place < servers.size(); place++) {
            Link current = link;
            if (isOpenTo(place, current)) {
                return current;
            }
            try {
                Link found = dial(place);
                close();
                link = found;
                return found;
            } catch (IOException error) {
                first = first == null ? failure(place, error) : first;
            }
        }
        close();
        throw first;
    }

    private boolean isOpenTo(int place, Link current) {
        if (current == null || current.place != place || current.isCut()) {
            return false;
        }
        try {
            if (isSteering && servers.size() > 1) {
                sayExempt(current);
            }
            return true;
        } catch (IOException cut) {
            return false;
        }
    }

    /**
     * Connects and logs in. A server that was killed lets clients in and cuts them at once, so in a topology the server
     * also has to answer.
     */
    private Link dial(int place) throws IOException {
        Link dialled = new Link(place, servers.get(place));
        try {
            if (password != null) {
                dialled.exchange(Resp.request("AUTH", password));
            }
            if (isExempt || servers.size() > 1) {
                sayExempt(dialled);
            }
            return dialled;
        } catch (IOException | RuntimeException error) {
            dialled.close();
            throw error;
        }
    }

    private void sayExempt(Link to) throws IOException {
        try {
            to.exchange(Resp.request("FAULT.EXEMPT", isExempt ? "ON" : "OFF"));
        } catch (ReplyException refusal) {
            if (isShutOut(refusal)) {
                throw refusal;
            }
            // A server that cannot be steered has no faults either.
        }
    }

    /** Whether the server lets no more clients in, and has closed the connection. */
    private static boolean isShutOut(ReplyException refusal) {
        return refusal.getMessage().contains("max number of clients reached");
    }

    /** Whether a server of the topology answers. */
    private boolean isLiving(int place) {
        try {
            dial(place).close();
            return true;
        } catch (ReplyException refusal) {
            return true;
        } catch (IOException dead) {
            return false;
        }
    }

    private UncheckedIOException failure(int place, IOException error) {
        return new UncheckedIOException("the server at " + servers.get(place) + ": " + error, error);
    }
}
