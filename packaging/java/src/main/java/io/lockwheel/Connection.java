package io.lockwheel;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * A connection to the server, opened by its first request, and again after it was cut. One request at a time: others
 * wait. An interrupt of the thread that waits for a reply cuts it.
 */
final class Connection implements Closeable {
    private final InetSocketAddress address;
    private final String password;
    /** Also closed by other threads than the one that reads. */
    private volatile SocketChannel channel;
    /** Whether rules for faults leave out what it sends. */
    private boolean isExempt = true;
    /** What has come and is not read yet. */
    private final ByteBuffer arrived = ByteBuffer.allocate(16 * 1024).limit(0);

    /** The password may be null. */
    Connection(InetSocketAddress address, String password) {
        this.address = address;
        this.password = password;
    }

    /** Sends a request and waits for its reply; a {@link ReplyException} when the server refuses it. */
    synchronized Object send(Object... args) {
        ByteBuffer request = Resp.request(args);
        try {
            if (isCut()) {
                close();
                open();
            }
            return exchange(request);
        } catch (IOException error) {
            close();
            throw new UncheckedIOException("the server at " + address + ": " + error, error);
        }
    }

    /** Whether rules for faults leave out what it sends from now on. */
    synchronized void setExempt(boolean isExempt) {
        if (this.isExempt != isExempt) {
            this.isExempt = isExempt;
            close();
        }
    }

    /** Ends it: a request that waits for its reply fails. */
    @Override
    public void close() {
        SocketChannel ended = channel;
        channel = null;
        if (ended != null) {
            try {
                ended.close();
            } catch (IOException alreadyCut) {
                // Then it is as it should be.
            }
        }
    }

    private void open() throws IOException {
        arrived.limit(0);
        channel = SocketChannel.open(address);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        if (password != null) {
            exchange(Resp.request("AUTH", password));
        }
        if (isExempt) {
            try {
                exchange(Resp.request("FAULT.EXEMPT", "ON"));
            } catch (ReplyException withoutSteering) {
                // Then it has no faults either.
            }
        }
    }

    /** Whether it is not open, or the server has ended it since the last reply. */
    private boolean isCut() throws IOException {
        SocketChannel current = channel;
        if (current == null || !current.isOpen()) {
            return true;
        }
        try {
            current.configureBlocking(false);
            arrived.compact();
            // Without room there is something to read, so it was not cut before that.
            return current.read(arrived) < 0;
        } catch (IOException cut) {
            return true;
        } finally {
            arrived.flip();
            if (current.isOpen()) {
                current.configureBlocking(true);
            }
        }
    }

    private Object exchange(ByteBuffer request) throws IOException {
        SocketChannel current = opened();
        while (request.hasRemaining()) {
            current.write(request);
        }
        Object reply;
        do {
            reply = Resp.reply(new Arriving(current));
        } while (reply instanceof Resp.Push);
        if (reply instanceof ReplyException refusal) {
            throw refusal;
        }
        return reply;
    }

    private SocketChannel opened() throws IOException {
        SocketChannel current = channel;
        if (current == null) {
            throw new EOFException("the connection was closed");
        }
        return current;
    }

    /** The bytes of a channel as they come. */
    private final class Arriving implements Resp.Source {
        private final SocketChannel source;

        Arriving(SocketChannel source) {
            this.source = source;
        }

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

        private void fill() throws IOException {
            while (!arrived.hasRemaining()) {
                arrived.clear();
                int count = source.read(arrived);
                arrived.flip();
                if (count < 0) {
                    throw new EOFException("it has closed the connection");
                }
            }
        }
    }
}
