package io.lockwheel;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Parameters of a command line, read as the server reads them. */
final class Arguments {
    /** The words before the first parameter: a configuration file. */
    final List<String> leading = new ArrayList<>();
    /** The words behind {@link #leading}. */
    final List<String> parameters;
    /** Each parameter: its name, then its values. */
    private final List<List<String>> read = new ArrayList<>();

    Arguments(List<String> words) {
        boolean isValue = false;
        for (int index = 0; index < words.size(); index++) {
            String word = words.get(index);
            if (word.startsWith("--") && !isValue) {
                List<String> parameter = split(word.substring(2));
                isValue = parameter.size() == 1 && !isComplete(parameter.get(0), words, index + 1);
                read.add(parameter);
            } else {
                (read.isEmpty() ? leading : read.get(read.size() - 1)).add(word);
                isValue = false;
            }
        }
        parameters = words.subList(leading.size(), words.size());
    }

    /** Whether a parameter has no value where another parameter follows. */
    private static boolean isComplete(String name, List<String> words, int next) {
        return List.of("save", "sentinel", "exit-with-parent").contains(name.toLowerCase(Locale.ROOT))
                && (next == words.size() || words.get(next).startsWith("--"));
    }

    /** The values of a parameter, where it stands last; empty if it is not there. */
    List<String> values(String name) {
        List<String> values = List.of();
        for (List<String> parameter : read) {
            if (parameter.get(0).equalsIgnoreCase(name)) {
                values = parameter.subList(1, parameter.size());
            }
        }
        return values;
    }

    /** Whether a parameter is there, even without a value. */
    boolean has(String name) {
        return read.stream().anyMatch(parameter -> parameter.get(0).equalsIgnoreCase(name));
    }

    /** The words of a line, unquoted; the line itself where its quotes have no end, which the server refuses. */
    static List<String> split(String line) {
        List<String> words = new ArrayList<>();
        byte[] bytes = line.getBytes(UTF_8);
        int at = 0;
        while (true) {
            while (at < bytes.length && isSpace(bytes[at])) {
                at++;
            }
            if (at == bytes.length) {
                return words.isEmpty() ? new ArrayList<>(List.of("")) : words;
            }
            ByteArrayOutputStream word = new ByteArrayOutputStream();
            at = word(bytes, at, word);
            if (at < 0) {
                return new ArrayList<>(List.of(line));
            }
            words.add(word.toString(UTF_8));
        }
    }

    /** Reads a word. The place behind it; -1 where a quote has no end. */
    private static int word(byte[] line, int begin, ByteArrayOutputStream word) {
        int at = begin;
        byte quote = 0;
        while (at < line.length) {
            byte next = line[at];
            if (quote == 0 && isSpace(next)) {
                return at;
            }
            if (quote == 0 && (next == '"' || next == '\'')) {
                quote = next;
                at++;
            } else if (quote != 0 && next == quote) {
                return at + 1 == line.length || isSpace(line[at + 1]) ? at + 1 : -1;
            } else if (quote != 0 && next == '\\' && at + 1 < line.length) {
                at = escape(line, at, quote, word);
            } else {
                word.write(next);
                at++;
            }
        }
        return quote == 0 ? at : -1;
    }

    /** Reads what begins with a backslash within quotes. The place behind it. */
    private static int escape(byte[] line, int at, byte quote, ByteArrayOutputStream word) {
        byte next = line[at + 1];
        if (quote == '\'') {
            word.write(next == '\'' ? next : '\\');
            return next == '\'' ? at + 2 : at + 1;
        }
        if (next == 'x' && at + 3 < line.length && isHex(line[at + 2]) && isHex(line[at + 3])) {
            word.write(Character.digit(line[at + 2], 16) << 4 | Character.digit(line[at + 3], 16));
            return at + 4;
        }
        int known = "nrtba".indexOf(next);
        word.write(known < 0 ? next : "\n\r\t\b\007".charAt(known));
        return at + 2;
    }

    private static boolean isHex(byte digit) {
        return Character.digit(digit, 16) >= 0;
    }

    private static boolean isSpace(byte letter) {
        return letter == ' ' || letter >= '\t' && letter <= '\r';
    }
}
