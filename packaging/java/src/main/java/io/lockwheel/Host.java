package io.lockwheel;

import java.util.List;
import java.util.stream.Stream;

/** Addresses of servers, as clients connect to them. */
final class Host {
    static final String LOOPBACK = "127.0.0.1";
    private static final String LOOPBACK_6 = "::1";

    private Host() {}

    /** The address to connect to of a server that listens on these: a loopback address if it is among them. */
    static String of(List<String> bound) {
        List<String> addresses = bound.stream()
                .flatMap(words -> Stream.of(words.strip().split("\\s+")))
                .map(address -> address.startsWith("-") ? address.substring(1) : address)
                .filter(address -> !address.isEmpty())
                .toList();
        if (addresses.isEmpty() || addresses.stream().anyMatch(List.of(LOOPBACK, "0.0.0.0", "*")::contains)) {
            return LOOPBACK;
        }
        boolean isLoopback6 = addresses.stream().anyMatch(List.of(LOOPBACK_6, "::", "::*")::contains);
        return isLoopback6 ? LOOPBACK_6 : addresses.get(0);
    }

    /** An address and a port, as URLs have them. */
    static String withPort(String host, int port) {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}
