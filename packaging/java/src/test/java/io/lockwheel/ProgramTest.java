package io.lockwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where the program is looked for. */
class ProgramTest {
    private static final String OTHER = "mac os x aarch64";

    @TempDir
    Path folder;

    @Test
    void theCallerComesBeforeTheEnvironmentAndThatBeforePath() throws IOException {
        Path onPath = Files.createFile(folder.resolve("lockwheel"));
        Map<String, String> path = Map.of("PATH", "/no/such/folder:" + folder);
        assertThrows(StartException.class, () -> Program.find(null, path, OTHER), "it is no program");
        assertTrue(onPath.toFile().setExecutable(true));
        assertEquals(onPath, Program.find(null, path, OTHER));
        Map<String, String> both = Map.of("PATH", folder.toString(), "LOCKWHEEL_BINARY", "/named");
        assertEquals(Path.of("/named"), Program.find(null, both, OTHER));
        assertEquals(Path.of("/wanted"), Program.find(Path.of("/wanted"), both, OTHER));
    }

    @Test
    void withoutAProgramThePlatformsAreNamed() {
        String told = assertThrows(StartException.class, () -> Program.find(null, Map.of(), OTHER)).getMessage();
        assertEquals(
                "no lockwheel program: this is mac os x aarch64 and the package has one for linux x86_64 (glibc or musl)"
                        + "; elsewhere put one on PATH or name it in LOCKWHEEL_BINARY",
                told);
    }

    @Test
    void thePackagesOwnIsUnpackedOnceByAllWhoAskAtOnce() throws Exception {
        assumeTrue(PackedProgram.isThere(), "these are classes without the program");
        Callable<Path> unpack = () -> PackedProgram.unpackedIn(folder);
        ExecutorService threads = Executors.newFixedThreadPool(8);
        Set<Path> files = threads.invokeAll(Collections.nCopies(8, unpack)).stream()
                .map(ProgramTest::done)
                .collect(Collectors.toSet());
        threads.shutdown();
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(files, left.collect(Collectors.toSet()), "one file, and nothing else");
        }
        Path file = files.iterator().next();
        assertTrue(Files.isExecutable(file));
        assertEquals(file.getFileName(), Program.find(null, Map.of(), "linux x86_64").getFileName());

        Files.write(file, List.of("cut short"));
        assertEquals(file, PackedProgram.unpackedIn(folder));
        try (LockwheelServer server = LockwheelServer.start(new ServerOptions().binary(file))) {
            assertEquals("PONG", server.command("PING"));
        }
    }

    private static Path done(Future<Path> future) {
        try {
            return future.get();
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }
}
