package io.lockwheel;

import java.util.List;
import java.util.function.Consumer;

/** The base of the groups of methods. */
abstract class Group {
    private final Connections connections;
    /** Whether the requests are the test's own commands, which faults may meet. */
    private final boolean isOwn;

    Group(Connections connections) {
        this(connections, false);
    }

    Group(Connections connections, boolean isOwn) {
        this.connections = connections;
        this.isOwn = isOwn;
    }

    final Connections connections() {
        return connections;
    }

    /** Returns the words of the options that a function sets. */
    static <T extends Options<T>> List<Object> words(T options, Consumer<T> set) {
        set.accept(options);
        return options.words();
    }

    final Object ask(Object... parts) {
        Object[] words = Words.of(parts).toArray();
        return isOwn ? connections.own(words) : connections.steer(words);
    }

    /** Sends a request after which the server may let no new connections in. */
    final Object askPrepared(Object... parts) {
        connections.prepare();
        return ask(parts);
    }

    /** Sends a request that ends this server to another one. */
    final void askBeside(long server, Object... parts) {
        connections.steerBeside(server, Words.of(parts).toArray());
    }

    final long until(Object... parts) {
        return connections.await(Words.of(parts).toArray());
    }
}
