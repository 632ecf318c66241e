// Testcontainers' check of a container's log: LogMessageWaitStrategy matches each frame against its pattern, and
// counts.

import java.io.BufferedReader;
import java.io.InputStreamReader;

public class Patterns {
    // The patterns of Redis' image in Testcontainers' documentation, in RedisContainer, and other common ones.
    static final String[] PATTERNS = {
        ".*Ready to accept connections.*",
        ".*Ready to accept connections.*\\n",
        ".*Ready to accept connections.*\\s",
        ".*eady to accept connections.*\\n",
        ".*\\* Ready to accept connections tcp.*\\n",
        ".*[Rr]eady to accept connections.*",
    };

    public static void main(String[] arguments) throws Exception {
        var found = new int[PATTERNS.length];
        var log = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = log.readLine()) != null; ) {
            for (int index = 0; index < PATTERNS.length; index++) {
                // The original predicate, word for word; a frame is a line with its end.
                if ((line + "\n").matches("(?s)" + PATTERNS[index])) found[index]++;
            }
        }
        for (int index = 0; index < PATTERNS.length; index++) {
            System.out.println(found[index] + " " + PATTERNS[index].replace("\n", "\\n"));
        }
    }
}
