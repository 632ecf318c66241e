package io.lockwheel;

import java.util.List;

/** Some clients. */
public final class Clients {
    private final List<Object> words;
    /** As a rule names them; null where it cannot. */
    private final List<Object> ofRule;

    private Clients(List<Object> words, List<Object> ofRule) {
        this.words = words;
        this.ofRule = ofRule;
    }

    /** One, by its number. */
    public static Clients id(long id) {
        return new Clients(List.of(id), List.of("CLIENT", id));
    }

    /** Those with a name like this. */
    public static Clients named(String pattern) {
        return new Clients(List.of("NAME", pattern), List.of("CLIENTNAME", pattern));
    }

    /** Those whose library has a name like this, as CLIENT SETINFO told it. */
    public static Clients lib(String pattern) {
        return new Clients(List.of("LIB", pattern), List.of("LIB", pattern));
    }

    /** Those from this address, with or without a port. */
    public static Clients addr(String address) {
        return new Clients(List.of("ADDR", address), null);
    }

    /** All but those that are exempt. */
    public static Clients all() {
        return new Clients(List.of("ALL"), null);
    }

    List<Object> words() {
        return words;
    }

    List<Object> ofRule() {
        if (ofRule == null) {
            throw new IllegalArgumentException("a rule names clients by id, name or lib");
        }
        return ofRule;
    }
}
