package io.lockwheel;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Where the program is. */
final class Program {
    private static final String NAME = "lockwheel";
    private static final String VARIABLE = "LOCKWHEEL_BINARY";
    /** The platforms whose program is in this package, as {@link #here} names them. It is static: any libc will do. */
    private static final String PLATFORM = "linux x86_64";

    private Program() {}

    /**
     * Finds the program: what the caller says, then what the environment says, then this package's, then PATH. Throws
     * one sentence that names the platforms when there is none.
     */
    static Path find(Path wanted) {
        return find(wanted, System.getenv(), here());
    }

    static Path find(Path wanted, Map<String, String> environment, String platform) {
        if (wanted != null) {
            return wanted;
        }
        String named = environment.getOrDefault(VARIABLE, "");
        if (!named.isEmpty()) {
            return Path.of(named);
        }
        if (platform.equals(PLATFORM) && PackedProgram.isThere()) {
            return PackedProgram.unpacked();
        }
        return inPath(environment.getOrDefault("PATH", "")).orElseThrow(() -> new StartException(missing(platform)));
    }

    private static String missing(String platform) {
        String reason = platform.equals(PLATFORM)
                ? "these classes were built without the one for " + PLATFORM
                : "this is " + platform + " and the package has one for " + PLATFORM + " (glibc or musl)";
        return "no lockwheel program: " + reason + "; elsewhere put one on PATH or name it in " + VARIABLE;
    }

    private static Optional<Path> inPath(String path) {
        return Stream.of(path.split(File.pathSeparator))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, NAME))
                .filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
                .findFirst();
    }

    /** This platform. */
    private static String here() {
        String machine = System.getProperty("os.arch");
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        return system + " " + (machine.equals("amd64") ? "x86_64" : machine);
    }
}
