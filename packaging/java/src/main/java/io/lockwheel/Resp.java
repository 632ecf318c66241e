package io.lockwheel;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import static java.nio.charset.StandardCharsets.UTF_8;

/** The protocol: requests written, replies of RESP2 and RESP3 read. */
final class Resp {
    private Resp() {}

    /** Where replies come from. */
    interface Source {
        /** The text up to the next end of line. */
        String line() throws IOException;

        /** So many bytes, and the end of line behind them, which is not part of the answer. */
        byte[] bytes(int length) throws IOException;
    }

    /** A message that answers no request. */
    record Push(List<Object> items) {}

    /** A request as an array of strings. Arguments are strings, numbers, booleans or bytes. */
    static ByteBuffer request(Object... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(("*" + args.length + "\r\n").getBytes(UTF_8));
        for (Object arg : args) {
            byte[] bytes = argument(arg);
            out.writeBytes(("$" + bytes.length + "\r\n").getBytes(UTF_8));
            out.writeBytes(bytes);
            out.writeBytes(new byte[] {'\r', '\n'});
        }
        return ByteBuffer.wrap(out.toByteArray());
    }

    /** Refuses, by an {@link IllegalArgumentException}, what the server never answers. */
    static void refuseUnanswered(Object... args) {
        if (args.length == 0) {
            throw new IllegalArgumentException("a command has a name: the server never answers an empty request");
        }
        if (args.length > 2 && isWord("CLIENT", args[0]) && isWord("REPLY", args[1])) {
            String mode = new String(argument(args[2]), UTF_8).toUpperCase(Locale.ROOT);
            if (mode.equals("OFF") || mode.equals("SKIP")) {
                throw new IllegalArgumentException("CLIENT REPLY " + mode
                        + " has no reply, which a command waits for: send it on a connection of the test's own");
            }
        }
    }

    private static boolean isWord(String word, Object arg) {
        return word.equalsIgnoreCase(new String(argument(arg), UTF_8));
    }

    private static byte[] argument(Object arg) {
        if (arg instanceof byte[] bytes) {
            return bytes;
        }
        if (arg instanceof CharSequence || arg instanceof Number || arg instanceof Boolean) {
            return arg.toString().getBytes(UTF_8);
        }
        String kind = arg == null ? "null" : arg.getClass().getName();
        throw new IllegalArgumentException("an argument of a command is a string, a number or bytes, not " + kind);
    }

    /** One reply. Errors are values, also within an array. */
    static Object reply(Source source) throws IOException {
        String line = source.line();
        String rest = line.isEmpty() ? "" : line.substring(1);
        return switch (line.isEmpty() ? '\0' : line.charAt(0)) {
            case '+' -> rest;
            case '-' -> new ReplyException(rest);
            case ':' -> Long.valueOf(rest);
            case '(' -> new BigInteger(rest);
            case ',' -> real(rest);
            case '#' -> rest.equals("t");
            case '_' -> null;
            case '$' -> rest.equals("-1") ? null : text(source.bytes(Integer.parseInt(rest)));
            case '!' -> new ReplyException(new String(source.bytes(Integer.parseInt(rest)), UTF_8));
            // A verbatim string begins with its format: `txt:`.
            case '=' -> new String(source.bytes(Integer.parseInt(rest)), UTF_8).substring(4);
            case '*' -> rest.equals("-1") ? null : items(source, Integer.parseInt(rest));
            case '~' -> new LinkedHashSet<>(items(source, Integer.parseInt(rest)));
            case '>' -> new Push(items(source, Integer.parseInt(rest)));
            case '%' -> pairs(items(source, 2 * Integer.parseInt(rest)));
            default -> throw new IOException("no reply: " + line);
        };
    }

    private static List<Object> items(Source source, int count) throws IOException {
        List<Object> items = new ArrayList<>();
        for (int left = count; left > 0; left--) {
            items.add(reply(source));
        }
        return items;
    }

    private static Map<Object, Object> pairs(List<?> items) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (int index = 0; index + 1 < items.size(); index += 2) {
            map.put(items.get(index), items.get(index + 1));
        }
        return map;
    }

    private static double real(String digits) {
        return switch (digits) {
            case "inf" -> Double.POSITIVE_INFINITY;
            case "-inf" -> Double.NEGATIVE_INFINITY;
            case "nan" -> Double.NaN;
            default -> Double.parseDouble(digits);
        };
    }

    /** A string where the bytes are one, else the bytes. */
    private static Object text(byte[] bytes) {
        try {
            return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException noText) {
            return bytes;
        }
    }
}
