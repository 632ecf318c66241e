package lockwheel;

import java.io.OutputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Locks over TLS, between two clients that show a certificate. */
public final class OverTls {
    private static final String PASSWORD = "password";
    private static final int PATIENCE_SECONDS = 60;

    private OverTls() {}

    /** Arguments: the port, and the directory with the certificates. */
    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[1]);
        RedissonClient holder = connect(args[0], directory);
        RedissonClient waiter = connect(args[0], directory);
        try {
            hand(holder.getLock("lock"), waiter.getLock("lock"));
            hand(holder.getFairLock("fair"), waiter.getFairLock("fair"));
            System.out.println("done");
        } finally {
            holder.shutdown();
            waiter.shutdown();
        }
        System.exit(0);
    }

    /** One client holds the lock, the other waits for it, and is notified when it is free. */
    private static void hand(RLock held, RLock wanted) throws Exception {
        held.lock();
        check(!wanted.tryLock());
        CountDownLatch got = new CountDownLatch(1);
        Thread waiting = new Thread(() -> {
            try {
                if (wanted.tryLock(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                    wanted.unlock();
                    got.countDown();
                }
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        });
        waiting.start();
        check(held.isHeldByCurrentThread());
        held.unlock();
        check(got.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
        waiting.join();
        check(!held.isLocked());
    }

    private static RedissonClient connect(String port, Path directory) throws Exception {
        Config config = new Config();
        config.setThreads(2);
        config.setNettyThreads(2);
        config.setSslTruststore(trusted(directory)).setSslTruststorePassword(PASSWORD);
        config.setSslKeystore(own(directory)).setSslKeystorePassword(PASSWORD);
        config.useSingleServer()
                .setAddress("rediss://127.0.0.1:" + port)
                .setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(4)
                .setTimeout(20_000)
                .setConnectTimeout(20_000);
        return Redisson.create(config);
    }

    private static URL trusted(Path directory) throws Exception {
        KeyStore store = empty();
        store.setCertificateEntry("ca", certificate(directory.resolve("ca.crt")));
        return written(store, directory.resolve("trusted.p12"));
    }

    private static URL own(Path directory) throws Exception {
        KeyStore store = empty();
        String text = Files.readString(directory.resolve("client.key"), StandardCharsets.US_ASCII);
        String body = text.replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
        PKCS8EncodedKeySpec key = new PKCS8EncodedKeySpec(Base64.getDecoder().decode(body));
        Certificate[] chain = {certificate(directory.resolve("client.crt"))};
        store.setKeyEntry("client", KeyFactory.getInstance("EC").generatePrivate(key), PASSWORD.toCharArray(), chain);
        return written(store, directory.resolve("client.p12"));
    }

    private static KeyStore empty() throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Certificate certificate(Path file) throws Exception {
        return CertificateFactory.getInstance("X.509").generateCertificate(Files.newInputStream(file));
    }

    private static URL written(KeyStore store, Path file) throws Exception {
        try (OutputStream out = Files.newOutputStream(file)) {
            store.store(out, PASSWORD.toCharArray());
        }
        return file.toUri().toURL();
    }

    private static void check(boolean holds) {
        if (!holds) {
            throw new AssertionError();
        }
    }
}
