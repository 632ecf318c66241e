package lockwheel;

import java.util.List;
import org.redisson.api.FunctionMode;
import org.redisson.api.FunctionResult;
import org.redisson.api.RFunction;
import org.redisson.client.codec.StringCodec;

/** Libraries of functions. */
public final class FunctionGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("function.all", FunctionGroup::all));
    }

    private static void all(Scene scene) throws Throwable {
        String library = scene.name().replace('.', '_').replace('-', '_');
        RFunction functions = scene.a().getFunction(StringCodec.INSTANCE);
        functions.loadAndReplace(
                library,
                "redis.register_function('" + library + "_pair', function(keys, args) return {keys[1], args[1]} end)\n"
                        + "redis.register_function{function_name = '" + library + "_get', flags = {'no-writes'},\n"
                        + "callback = function(keys) return redis.call('GET', keys[1]) end}");
        Check.equal(
                List.of("key", "argument"),
                functions.call(FunctionMode.WRITE, library + "_pair", FunctionResult.LIST, List.of("key"), "argument"));
        scene.raw().text("SET", scene.name(), "text");
        Check.equal(
                "text",
                functions.call(FunctionMode.READ, library + "_get", FunctionResult.STRING, List.of(scene.name())));
        Check.equal(library, functions.list(library).get(0).getName());
        Check.equal(2, functions.list(library).get(0).getFunctions().size());
        byte[] dump = functions.dump();
        functions.delete(library);
        Check.that(functions.list(library).isEmpty(), "it is gone");
        scene.b().getFunction().restore(dump);
        Check.equal(1, functions.list(library).size());
        functions.delete(library);
    }
}
