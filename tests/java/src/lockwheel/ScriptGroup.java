package lockwheel;

import java.util.List;
import org.redisson.api.RScript;
import org.redisson.api.RScript.Mode;
import org.redisson.api.RScript.ReturnType;
import org.redisson.client.RedisException;

/** Scripts that the user writes. */
final class ScriptGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("script.values", ScriptGroup::values));
        scenarios.add(new Scenario("script.cache", ScriptGroup::cache));
        scenarios.add(new Scenario("script.errors", ScriptGroup::errors));
    }

    /** The constant under its older or its newer name. */
    private static ReturnType type(String older, String newer) {
        for (ReturnType type : ReturnType.values()) {
            if (type.name().equals(older) || type.name().equals(newer)) {
                return type;
            }
        }
        throw new IllegalArgumentException(older + " or " + newer);
    }

    private static void values(Scene scene) throws Throwable {
        RScript script = scene.a().getScript();
        ReturnType integer = type("INTEGER", "LONG");
        ReturnType list = type("MULTI", "LIST");
        List<Object> keys = List.of(scene.name());
        Check.equal(3L, script.<Long>eval(Mode.READ_ONLY, "return 3.99", integer));
        Check.equal(true, script.<Boolean>eval(Mode.READ_ONLY, "return 1 == 1", ReturnType.BOOLEAN));
        Check.equal(null, script.<Object>eval(Mode.READ_ONLY, "return redis.call('get', KEYS[1])", ReturnType.VALUE, keys));
        Check.equal(
                "OK",
                script.<String>eval(
                        Mode.READ_WRITE, "return redis.call('set', KEYS[1], ARGV[1])", type("STATUS", "STRING"), keys, "v"));
        Check.equal("v", script.<String>eval(Mode.READ_ONLY, "return redis.call('get', KEYS[1])", ReturnType.VALUE, keys));
        Check.equal(
                List.of("v", "x", "y"),
                script.<List<Object>>eval(
                        Mode.READ_ONLY,
                        "return {redis.call('get', KEYS[1]), ARGV[1], ARGV[2], nil, 'never'}",
                        list,
                        keys,
                        "x",
                        "y"));
        Check.equal(
                "false nil",
                script.<String>eval(
                        Mode.READ_ONLY,
                        "local v = redis.call('hget', KEYS[2], 'f'); return tostring(v) .. ' ' .. type(ARGV[1])",
                        ReturnType.VALUE,
                        List.of(scene.name(), scene.name("no such"))));
    }

    private static void cache(Scene scene) throws Throwable {
        RScript script = scene.a().getScript();
        String text = "return redis.call('incrby', KEYS[1], 5) -- " + scene.name();
        ReturnType integer = type("INTEGER", "LONG");
        String sha = script.scriptLoad(text);
        Check.that(sha.matches("[0-9a-f]{40}"), "a SHA-1 in hexadecimal");
        Check.equal(List.of(true, false), script.scriptExists(sha, "0000000000000000000000000000000000000000"));
        Check.equal(5L, script.<Long>evalSha(Mode.READ_WRITE, sha, integer, List.of(scene.name())));
        Check.equal(10L, scene.b().getScript().<Long>evalSha(Mode.READ_WRITE, sha, integer, List.of(scene.name())));
    }

    private static void errors(Scene scene) throws Throwable {
        RScript script = scene.a().getScript();
        ReturnType integer = type("INTEGER", "LONG");
        RedisException unknown = Check.throwing(
                RedisException.class,
                ignored -> script.evalSha(Mode.READ_WRITE, "ffffffffffffffffffffffffffffffffffffffff", integer));
        Check.that(unknown.getMessage().contains("NOSCRIPT No matching script"), unknown.getMessage());
        RedisException own = Check.throwing(
                RedisException.class,
                ignored -> script.eval(Mode.READ_WRITE, "return redis.error_reply('MY own words')", integer));
        Check.that(own.getMessage().contains("MY own words"), own.getMessage());
        RedisException wrongType = Check.throwing(
                RedisException.class,
                ignored -> script.eval(
                        Mode.READ_WRITE,
                        "redis.call('rpush', KEYS[1], 'x'); return redis.call('incr', KEYS[1])",
                        integer,
                        List.of(scene.name())));
        Check.that(wrongType.getMessage().contains("WRONGTYPE"), wrongType.getMessage());
        Check.equal(1L, scene.raw().number("LLEN", scene.name()));
        RedisException syntax =
                Check.throwing(RedisException.class, ignored -> script.eval(Mode.READ_WRITE, "return (", integer));
        Check.that(syntax.getMessage().contains("Error compiling script"), syntax.getMessage());
    }
}
