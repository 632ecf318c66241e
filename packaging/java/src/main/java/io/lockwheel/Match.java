package io.lockwheel;

import java.util.List;

/** Which requests a rule matches, and which of these it acts on: {@code new Match().on("SET").times(1)}. */
public final class Match {
    private final List<Object> words;

    /** Every request. */
    public Match() {
        this(List.of());
    }

    private Match(List<Object> words) {
        this.words = words;
    }

    private Match and(Object... more) {
        return new Match(Words.and(words, more));
    }

    /** Of these, those of a command. */
    public Match on(String command) {
        return and("ON", command);
    }

    /** Of these, those that run the script with this digest. */
    public Match script(String digest) {
        return and("SCRIPT", digest);
    }

    /** Of these, those that run a script with this in its text. */
    public Match contains(String text) {
        return and("CONTAINS", text);
    }

    /** Of these, those with a key like this. */
    public Match key(String pattern) {
        return and("KEY", pattern);
    }

    /** Of these, those with a channel like this. */
    public Match channel(String pattern) {
        return and("CHANNEL", pattern);
    }

    /** Of these, those with this argument; 1 is the first behind the command. */
    public Match arg(int index, Object value) {
        return and("ARG", index, value);
    }

    /** Of these, those of clients by id, name or lib. */
    public Match client(Clients clients) {
        return and(clients.ofRule().toArray());
    }

    /** Of these, for actions on the reply, those that are answered {@code OK}, {@code ERROR} or {@code NIL}. */
    public Match result(String kind) {
        Known.check("the result", kind, List.of("OK", "ERROR", "NIL"));
        return and("RESULT", kind);
    }

    /** Of these, not the first so many. */
    public Match skip(long matches) {
        return and("SKIP", matches);
    }

    /** Of these, until the rule has acted so often. */
    public Match times(long hits) {
        return and("TIMES", hits);
    }

    /** Of these, each with this chance, from 0 to 1; the seed draws. */
    public Match prob(double chance) {
        return and("PROB", chance);
    }

    List<Object> words() {
        return words;
    }
}
