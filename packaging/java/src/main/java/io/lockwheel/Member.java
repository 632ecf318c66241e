package io.lockwheel;

import java.net.URLEncoder;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * One of the servers of a topology.
 *
 * @param role what it began as: {@code master}, {@code replica} or {@code sentinel}
 * @param host {@code 127.0.0.1}, or the address of {@code --bind}
 * @param port the port on which it listens
 * @param password the password of {@code --requirepass}; null where there is none
 */
public record Member(String role, String host, int port, String password) {
    /** For any client: {@code redis://127.0.0.1:port}, with the password of {@code --requirepass}. */
    public String url() {
        return "redis://" + login(password) + Host.withPort(host, port);
    }

    /** What of a URL names the password. */
    static String login(String password) {
        return password == null ? "" : ":" + URLEncoder.encode(password, UTF_8).replace("+", "%20") + "@";
    }
}
