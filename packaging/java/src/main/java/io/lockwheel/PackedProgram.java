package io.lockwheel;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;

import static java.nio.charset.StandardCharsets.US_ASCII;

/** The program that is in this package, and the file that it is unpacked to: once for all who have the same package. */
final class PackedProgram {
    private static final String PROGRAM = "program/linux-x86_64/lockwheel";
    /** Its SHA-256, in hexadecimal digits. */
    private static final String CHECKSUM = PROGRAM + ".sha256";

    private static Path unpacked;

    private PackedProgram() {}

    static boolean isThere() {
        return PackedProgram.class.getResource(CHECKSUM) != null;
    }

    /** The file, which is named by its checksum, so that it is never another than the package's. */
    static synchronized Path unpacked() {
        if (unpacked == null || !Files.isExecutable(unpacked)) {
            try {
                unpacked = unpackedIn(folder(System.getenv()));
            } catch (IOException error) {
                throw new StartException("the program could not be unpacked: " + error, error);
            }
        }
        return unpacked;
    }

    /** The user's cache; where that cannot be written, a folder for this process alone. */
    private static Path folder(Map<String, String> environment) throws IOException {
        String told = environment.getOrDefault("XDG_CACHE_HOME", "");
        Path cache = told.isEmpty() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(told);
        try {
            return Files.createDirectories(cache.resolve("lockwheel"));
        } catch (IOException readOnly) {
            Path folder = Files.createTempDirectory("lockwheel");
            folder.toFile().deleteOnExit();
            named(folder, checksum()).toFile().deleteOnExit();
            return folder;
        }
    }

    /** The file in a folder, written if it is not there. Any number of processes may do so at once. */
    static Path unpackedIn(Path folder) throws IOException {
        String checksum = checksum();
        Path file = named(folder, checksum);
        // A machine that went down may have left the name without the bytes.
        if (Files.isExecutable(file) && Files.size(file) == size()) {
            return file;
        }
        // Written under another name and then renamed: nobody sees half of it.
        Path part = Files.createTempFile(folder, "part", null);
        try {
            copy(part, checksum);
            Files.setPosixFilePermissions(part, PosixFilePermissions.fromString("rwxr-xr-x"));
            return Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    private static Path named(Path folder, String checksum) {
        return folder.resolve("lockwheel-" + checksum);
    }

    private static void copy(Path to, String checksum) throws IOException {
        MessageDigest digest = sha256();
        try (InputStream packed = new DigestInputStream(resource(PROGRAM), digest)) {
            Files.copy(packed, to, StandardCopyOption.REPLACE_EXISTING);
        }
        String found = HexFormat.of().formatHex(digest.digest());
        if (!found.equals(checksum)) {
            throw new IOException("the package is damaged: its program has the SHA-256 " + found + ", not " + checksum);
        }
    }

    private static long size() throws IOException {
        return PackedProgram.class.getResource(PROGRAM).openConnection().getContentLengthLong();
    }

    private static String checksum() throws IOException {
        try (InputStream text = resource(CHECKSUM)) {
            return new String(text.readAllBytes(), US_ASCII).strip();
        }
    }

    private static InputStream resource(String name) throws IOException {
        InputStream resource = PackedProgram.class.getResourceAsStream(name);
        if (resource == null) {
            throw new IOException("the package lacks " + name);
        }
        return resource;
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError("every Java has SHA-256", impossible);
        }
    }
}
