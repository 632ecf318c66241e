package io.lockwheel;

import java.util.List;
import java.util.Map;

/** What happened to locks, whoever took them: this package starts its servers with {@code lock-history yes}. */
public final class History {
    private static final List<Object> HISTORY = List.of("LOCK.HISTORY");
    private final Connection connection;

    History(Connection connection) {
        this.connection = connection;
    }

    /** All entries, the oldest first. */
    public Entries entries() {
        return entries(new Filters());
    }

    /** These entries, the oldest first. */
    public Entries entries(Filters filters) {
        Map<String, Object> told = Resp.fields(connection.send(Words.of(HISTORY, filters.words())));
        List<?> entries = (List<?>) told.get("entries");
        return new Entries(
                (Long) told.get("first"),
                (Long) told.get("last"),
                Resp.isTrue(told.get("truncated")),
                entries.stream().map(Resp::fields).map(Entry::of).toList());
    }

    /** These entries as JSON. */
    public String json(Filters filters) {
        return formatted(filters, "JSON");
    }

    /** The operations on locks as EDN, as Jepsen's checkers read them. */
    public String edn(Filters filters) {
        return formatted(filters, "EDN");
    }

    private String formatted(Filters filters, String format) {
        return (String) connection.send(Words.of(HISTORY, filters.words(), List.of("FORMAT", format)));
    }

    /** Writes a line of the test's own. */
    public void mark(String line) {
        connection.send("LOCK.MARK", line);
    }

    /** Keys like this are locks too. */
    public void observe(String pattern) {
        connection.send("LOCK.OBSERVE", pattern);
    }

    /** They are no longer, for this pattern of {@link #observe}. */
    public void unobserve(String pattern) {
        connection.send("LOCK.OBSERVE", "DEL", pattern);
    }

    /** Declares that an owner is now in the section that a lock protects: two there at once are a violation. */
    public void enter(String key, String owner) {
        connection.send("LOCK.ENTER", key, owner);
    }

    /** The same, with the token of the owner's grant. */
    public void enter(String key, String owner, long token) {
        connection.send("LOCK.ENTER", key, owner, "TOKEN", token);
    }

    /** Declares that an owner has left it; whether it was there. */
    public boolean leave(String key, String owner) {
        return connection.send("LOCK.LEAVE", key, owner).equals(1L);
    }
}
