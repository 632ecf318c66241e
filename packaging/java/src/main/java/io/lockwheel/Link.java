package io.lockwheel;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

import static java.nio.charset.StandardCharsets.UTF_8;

/** An open connection to one server. An interrupt of the thread that waits for a reply ends it. */
final class Link implements Closeable {
    /** Of the server, among those of its topology. */
    final int place;
    /** Also closed by other threads than the one that reads. */
    private final SocketChannel channel;
    /** What has come and is not read yet. */
    private final ByteBuffer arrived = ByteBuffer.allocate(16 * 1024).limit(0);
    /** How many milliseconds a piece of a reply may take; 0: any number. */
    private int limit;
    /** Whether the last probe was refused, as by a server that runs a script. */
    boolean isRefusing;

    /** Connects, within a limit in milliseconds that is not 0. */
    Link(int place, InetSocketAddress address, int limit) throws IOException {
        this.place = place;
        channel = SocketChannel.open();
        try {
            channel.socket().connect(address, limit);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        } catch (IOException | RuntimeException error) {
            channel.close();
            throw error;
        }
        this.limit = limit;
    }

    /** How many milliseconds a piece of a reply may take from now on; 0: any number. */
    void limit(int milliseconds) {
        limit = milliseconds;
    }

    /** Whether it is not open, or the server has ended it since the last reply. */
    boolean isCut() {
        if (!channel.isOpen()) {
            return true;
        }
        try {
            channel.configureBlocking(false);
            arrived.compact();
            // Without room there is something to read, so it was not cut before that.
            boolean isAtItsEnd = channel.read(arrived) < 0;
            arrived.flip();
            channel.configureBlocking(true);
            return isAtItsEnd;
        } catch (IOException cut) {
            return true;
        }
    }

    /** Sends a request and waits for its reply; a {@link ReplyException} when the server refuses it. */
    Object exchange(ByteBuffer request) throws IOException {
        while (request.hasRemaining()) {
            channel.write(request);
        }
        Object reply;
        do {
            reply = Resp.reply(new Arriving());
        } while (reply instanceof Resp.Push);
        if (reply instanceof ReplyException refusal) {
            throw refusal;
        }
        return reply;
    }

    /** Ends it: a request that waits for its reply fails. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException alreadyCut) {
            // Then it is as it should be.
        }
    }

    /** The bytes of a channel as they come. */
    private final class Arriving implements Resp.Source {
        @Override
        public String line() throws IOException {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (byte next = next(); next != '\n'; next = next()) {
                line.write(next);
            }
            return line.toString(UTF_8).stripTrailing();
        }

        @Override
        public byte[] bytes(int length) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            while (bytes.size() < length) {
                fill();
                byte[] piece = new byte[Math.min(length - bytes.size(), arrived.remaining())];
                arrived.get(piece);
                bytes.writeBytes(piece);
            }
            next();
            next();
            return bytes.toByteArray();
        }

        private byte next() throws IOException {
            fill();
            return arrived.get();
        }

        private int readWithin() throws IOException {
            channel.socket().setSoTimeout(limit);
            byte[] piece = new byte[arrived.remaining()];
            int count = channel.socket().getInputStream().read(piece);
            arrived.put(piece, 0, Math.max(0, count));
            return count;
        }

        private void fill() throws IOException {
            while (!arrived.hasRemaining()) {
                arrived.clear();
                int count = limit == 0 ? channel.read(arrived) : readWithin();
                arrived.flip();
                if (count < 0) {
                    throw new EOFException("it has closed the connection");
                }
            }
        }
    }
}
