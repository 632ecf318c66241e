package io.lockwheel;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Map;
import javax.net.ssl.TrustManagerFactory;

/** What clients need to know of a server that speaks TLS. */
final class Tls {
    private Tls() {}

    /** Whether the options ask for a port for TLS. */
    static boolean isWanted(ServerOptions options) {
        return options.parameter("tls-port") != null || options.parameter("tls-port-file") != null;
    }

    /** The port for TLS of a server that has one. */
    static int port(Connections connections) {
        Map<String, Object> told = Replies.fields(connections.steer("CONFIG", "GET", "tls-port"));
        return Integer.parseInt(Replies.text(told.get("tls-port")));
    }

    /** The certificates to trust, and no others: {@code --tls-ca-cert-file}, or else {@code --tls-cert-file}. */
    static KeyStore trustStore(ServerOptions options) {
        String authority = options.parameter("tls-ca-cert-file");
        String named = authority == null ? options.parameter("tls-cert-file") : authority;
        if (named == null) {
            throw new IllegalStateException("neither --tls-ca-cert-file nor --tls-cert-file is among the args");
        }
        Path file = Path.of(named);
        try (InputStream pem = Files.newInputStream(file)) {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
                store.setCertificateEntry("lockwheel-" + store.size(), certificate);
            }
            return store;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(file + ": " + error.getMessage(), error);
        }
    }

    static TrustManagerFactory trustManagers(KeyStore store) {
        try {
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            return trust;
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }
}
