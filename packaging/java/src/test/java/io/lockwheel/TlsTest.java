package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;

/** A server with TLS, whose certificates are where this is run by the project's tests. */
class TlsTest {
    private static final Path CERTIFICATES = Path.of("certificates");

    @Test
    void theAddressIsThatForTlsAndItsCertificateIsTrusted() throws Exception {
        assumeTrue(Files.isDirectory(CERTIFICATES), "no certificates");
        ServerOptions options = new ServerOptions().args(
                "--tls-port", "0",
                "--tls-auth-clients", "no",
                "--tls-ca-cert-file", CERTIFICATES.resolve("ca.crt").toString(),
                "--tls-cert-file", CERTIFICATES.resolve("server.crt").toString(),
                "--tls-key-file", CERTIFICATES.resolve("server.key").toString());
        try (LockwheelServer server = LockwheelServer.start(options)) {
            assertEquals("rediss://127.0.0.1:" + server.port(), server.url());
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, Tls.trustManagers(server.trustStore()).getTrustManagers(), null);
            try (Socket client = context.getSocketFactory().createSocket(server.host(), server.port())) {
                client.getOutputStream().write("PING\r\n".getBytes());
                assertEquals("+PONG", new String(client.getInputStream().readNBytes(5)));
            }
            assertEquals("PONG", server.command("PING"));
        }
    }

    @Test
    void whatToTrustMustBeAmongTheParameters() {
        assertThrows(IllegalStateException.class, () -> Tls.trustStore(new ServerOptions()));
        assertFalse(Tls.isWanted(new ServerOptions()));
    }
}
