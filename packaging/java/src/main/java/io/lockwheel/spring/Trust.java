package io.lockwheel.spring;

import io.lockwheel.LockwheelServer;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslStoreBundle;

/** What an application trusts. */
final class Trust {
    private Trust() {}

    /** The server's certificates; null where it speaks no TLS. */
    static SslBundle bundle(LockwheelServer server) {
        return server.usesTls() ? SslBundle.of(SslStoreBundle.of(null, null, server.trustStore())) : null;
    }
}
