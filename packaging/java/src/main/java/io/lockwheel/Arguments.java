package io.lockwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

/** Parameters of a command line, read as the server reads them. */
final class Arguments {
    /** A part of a word in quotes. Behind its end there is a space, or nothing. */
    private static final String QUOTED = "(?:\"(?:\\\\.|[^\"\\\\]++)*+\"|'(?:\\\\'|[^'\\\\]++|\\\\)*+')(?!\\S)";
    private static final Pattern WORD = Pattern.compile("(?:[^\\s\"']++|" + QUOTED + ")++", Pattern.DOTALL);
    private static final Pattern LINE = Pattern.compile("(?:\\s++|" + WORD + "(?!\\S))*+", Pattern.DOTALL);
    private static final Pattern PART = Pattern.compile(QUOTED, Pattern.DOTALL);
    private static final Pattern ESCAPE = Pattern.compile("\\\\(?:x(\\p{XDigit}{2})|(.))", Pattern.DOTALL);

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
        // Escapes stand for bytes, so a letter is a byte here.
        String bytes = new String(line.getBytes(UTF_8), ISO_8859_1);
        if (!LINE.matcher(bytes).matches()) {
            return new ArrayList<>(List.of(line));
        }
        List<String> words = WORD.matcher(bytes).results()
                .map(word -> PART.matcher(word.group()).replaceAll(part -> Matcher.quoteReplacement(unquoted(part))))
                .map(word -> new String(word.getBytes(ISO_8859_1), UTF_8))
                .collect(Collectors.toCollection(ArrayList::new));
        return words.isEmpty() ? new ArrayList<>(List.of("")) : words;
    }

    /** A part of a word without its quotes and escapes. */
    private static String unquoted(MatchResult part) {
        String quoted = part.group().substring(1, part.group().length() - 1);
        return part.group().startsWith("'")
                ? quoted.replace("\\'", "'")
                : ESCAPE.matcher(quoted).replaceAll(escape -> Matcher.quoteReplacement(unescaped(escape)));
    }

    private static String unescaped(MatchResult escape) {
        if (escape.group(1) != null) {
            return String.valueOf((char) Integer.parseInt(escape.group(1), 16));
        }
        int known = "nrtba".indexOf(escape.group(2));
        return known < 0 ? escape.group(2) : "\n\r\t\b\007".substring(known, known + 1);
    }
}
