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
import java.util.List;
import java.util.Map;
import javax.net.ssl.TrustManagerFactory;

/** What clients need to know of a server that speaks TLS. */
final class Tls {
    private Tls() {}

    /** The port for TLS; 0 where the options ask for none. */
    static int port(ServerOptions options, Connection connection) {
        if (options.parameter("tls-port") == null && options.parameter("tls-port-file") == null) {
            return 0;
        }
        Map<String, Object> told = Resp.fields(connection.send("CONFIG", "GET", "tls-port"));
        return Integer.parseInt((String) told.get("tls-port"));
    }

    /** The file, in PEM, of the certificates to trust; null where the options name none. */
    static Path certificates(ServerOptions options) {
        String authority = options.parameter("tls-ca-cert-file");
        String own = options.parameter("tls-cert-file");
        String file = authority == null ? own : authority;
        return file == null ? null : Path.of(file).toAbsolutePath();
    }

    /** Trust in these certificates, and in no others. */
    static TrustManagerFactory trust(ServerOptions options) {
        Path file = certificates(options);
        if (file == null) {
            throw new IllegalStateException("neither --tls-ca-cert-file nor --tls-cert-file is among the args");
        }
        try (InputStream pem = Files.newInputStream(file)) {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            List<? extends Certificate> found =
                    List.copyOf(CertificateFactory.getInstance("X.509").generateCertificates(pem));
            for (int index = 0; index < found.size(); index++) {
                store.setCertificateEntry("lockwheel-" + index, found.get(index));
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            return trust;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(file + ": " + error.getMessage(), error);
        }
    }
}
