package io.lockwheel;

import java.util.List;
import java.util.Locale;

/** Strings that are one of a few words. */
final class Known {
    /** From how many edits on a word is not near. */
    private static final int FAR = 3;

    private Known() {}

    /** Refuses a string that is none of these, in any case, and names the nearest. */
    static void check(String what, String given, List<String> words) {
        String nearest = "";
        int distance = FAR;
        for (String word : words) {
            int edits = edits(given.toLowerCase(Locale.ROOT), word.toLowerCase(Locale.ROOT));
            if (edits == 0) {
                return;
            }
            if (edits < distance && edits < given.length()) {
                nearest = "; did you mean '" + word + "'?";
                distance = edits;
            }
        }
        String all = String.join(", ", words);
        throw new IllegalArgumentException(what + " is one of " + all + ", not '" + given + "'" + nearest);
    }

    /** How many letters have to be inserted, deleted or replaced to make one word of the other. */
    static int edits(String one, String other) {
        int[] row = new int[other.length() + 1];
        for (int column = 0; column < row.length; column++) {
            row[column] = column;
        }
        for (int line = 1; line <= one.length(); line++) {
            int before = row[0];
            row[0] = line;
            for (int column = 1; column < row.length; column++) {
                int replaced = before + (one.charAt(line - 1) == other.charAt(column - 1) ? 0 : 1);
                before = row[column];
                row[column] = Math.min(replaced, Math.min(before, row[column - 1]) + 1);
            }
        }
        return row[other.length()];
    }
}
