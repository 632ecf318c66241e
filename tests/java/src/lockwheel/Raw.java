package lockwheel;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A plain RESP2 connection. A scenario reads the server's data over it, without Redisson's help. */
final class Raw implements AutoCloseable {
    private final Socket socket;
    private final DataInputStream in;
    private final List<Raw> otherNodes = new ArrayList<>();

    Raw(int port, int timeoutMillis) throws IOException {
        socket = new Socket("127.0.0.1", port);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(timeoutMillis);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    }

    /** Sends a command and reads its reply: String, Long, List or null. An error reply is thrown. */
    Object call(String... words) throws IOException {
        send(words);
        return read();
    }

    /** A reply that is an integer. */
    long number(String... words) throws IOException {
        return (Long) call(words);
    }

    /** A reply that is a string, or null. */
    String text(String... words) throws IOException {
        return (String) call(words);
    }

    /** A reply that is a flat array of strings. */
    List<String> texts(String... words) throws IOException {
        List<String> texts = new ArrayList<>();
        for (Object item : (List<?>) call(words)) {
            texts.add((String) item);
        }
        return texts;
    }

    /** A hash with its fields in the server's order. */
    Map<String, String> hash(String key) throws IOException {
        List<String> flat = texts("HGETALL", key);
        Map<String, String> hash = new LinkedHashMap<>();
        for (int i = 0; i < flat.size(); i += 2) {
            hash.put(flat.get(i), flat.get(i + 1));
        }
        return hash;
    }

    /** A reply that is a map, flattened, or null. */
    Map<String, Object> map(String... words) throws IOException {
        List<?> flat = (List<?>) call(words);
        return flat == null ? null : mapped(flat);
    }

    /** A flattened map, with its keys in the server's order. */
    static Map<String, Object> mapped(List<?> flat) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < flat.size(); i += 2) {
            map.put((String) flat.get(i), flat.get(i + 1));
        }
        return map;
    }

    /**
     * The number of clients subscribed to a channel, or to the sharded one of this name. In a cluster, it includes the
     * other nodes, to which a message is forwarded.
     */
    long subscribers(String channel) throws IOException {
        long all = (Long) ((List<?>) call("PUBSUB", "NUMSUB", channel)).get(1);
        all += (Long) ((List<?>) call("PUBSUB", "SHARDNUMSUB", channel)).get(1);
        for (Raw node : otherNodes) {
            all += node.subscribers(channel);
        }
        return all;
    }

    /** Sets the other nodes of the cluster. */
    void isBeside(List<Raw> nodes) {
        otherNodes.addAll(nodes);
    }

    void send(String... words) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(("*" + words.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (String word : words) {
            byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
            out.write(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            out.write(bytes);
            out.write('\r');
            out.write('\n');
        }
        socket.getOutputStream().write(out.toByteArray());
    }

    /** Reads one reply, or one message of a subscription. */
    Object read() throws IOException {
        String line = line();
        String rest = line.substring(1);
        switch (line.charAt(0)) {
            case '+':
                return rest;
            case '-':
                throw new ErrorReply(rest);
            case ':':
                return Long.parseLong(rest);
            case '$':
                return bulk(Integer.parseInt(rest));
            case '*':
                return array(Integer.parseInt(rest));
            default:
                throw new IOException("not RESP2: " + line);
        }
    }

    private String bulk(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        in.readFully(new byte[2]);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private List<Object> array(int length) throws IOException {
        if (length < 0) {
            return null;
        }
        List<Object> items = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            items.add(read());
        }
        return items;
    }

    private String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.readUnsignedByte(); b != '\r'; b = in.readUnsignedByte()) {
            line.write(b);
        }
        in.readUnsignedByte();
        return line.toString(StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    /** An error reply of the server. */
    static final class ErrorReply extends RuntimeException {
        private static final long serialVersionUID = 1L;

        ErrorReply(String text) {
            super(text);
        }
    }
}
