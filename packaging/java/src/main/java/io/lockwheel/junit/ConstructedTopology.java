package io.lockwheel.junit;

import io.lockwheel.LockwheelServer;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;

/** The topology that the constructor of a test class was given, until the test takes it. Tests take turns. */
final class ConstructedTopology {
    private static final Namespace NAMESPACE = Namespace.create(ConstructedTopology.class);

    private final Lockwheel annotation;
    private final LockwheelServer server;

    private ConstructedTopology(Lockwheel annotation) {
        this.annotation = annotation;
        server = LockwheelServer.start(SharedServers.options(annotation));
    }

    /** The topology for the test that is being constructed. */
    static LockwheelServer of(Lockwheel annotation, ExtensionContext context) {
        ConstructedTopology found = store(context).get(ConstructedTopology.class, ConstructedTopology.class);
        if (found == null || !found.annotation.equals(annotation)) {
            stop(context);
            found = new ConstructedTopology(annotation);
            store(context).put(ConstructedTopology.class, found);
        }
        return found.server;
    }

    /** The topology of the test's constructor, or a new one where that has none. */
    static LockwheelServer taken(Lockwheel annotation, ExtensionContext context) {
        LockwheelServer server = of(annotation, context);
        store(context).remove(ConstructedTopology.class);
        return server;
    }

    /** Ends a topology that no test has taken. */
    static void stop(ExtensionContext context) {
        ConstructedTopology left = store(context).remove(ConstructedTopology.class, ConstructedTopology.class);
        if (left != null) {
            left.server.stop();
        }
    }

    private static Store store(ExtensionContext context) {
        return context.getRoot().getStore(NAMESPACE);
    }
}
