package io.lockwheel.junit;

import io.lockwheel.LockwheelServer;
import io.lockwheel.ServerOptions;
import java.util.HashMap;
import java.util.Map;

/** The servers of this JVM, with which they end: one for each choice of options that a class has made. */
public final class SharedServers {
    private static final Map<ServerOptions, LockwheelServer> SERVERS = new HashMap<>();

    private SharedServers() {}

    /** The server with these options; the first call starts it, and so does one after a test has ended it. */
    public static synchronized LockwheelServer with(Lockwheel annotation) {
        return SERVERS.compute(options(annotation), (options, server) ->
                server != null && server.isRunning() ? server : LockwheelServer.start(options));
    }

    /** A new server in place of one that cannot be reset, unless another is there already. */
    static synchronized LockwheelServer replacing(LockwheelServer broken, Lockwheel annotation) {
        broken.stop();
        SERVERS.remove(options(annotation), broken);
        return with(annotation);
    }

    static ServerOptions options(Lockwheel annotation) {
        ServerOptions options = new ServerOptions().time(annotation.time()).seed(annotation.seed());
        options = options.args(annotation.args()).verify(annotation.verify());
        return annotation.topology().isEmpty() ? options : options.topology(annotation.topology());
    }
}
