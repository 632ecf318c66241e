package lockwheel;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * One member's connection to the referee of an object, in the process of the test. Each request and each answer is a
 * line.
 */
final class Referee implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader in;
    private final int member;

    Referee(int port, String object) throws IOException {
        socket = new Socket("127.0.0.1", port);
        socket.setTcpNoDelay(true);
        in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
        member = Integer.parseInt(ask("join " + object));
    }

    /** The number of this member's seat. */
    int member() {
        return member;
    }

    /** Waits until this member may try again. Returns the number of its turn, or -1 after the last. */
    long turn() throws IOException {
        String answer = ask("turn");
        return answer.equals("end") ? -1 : Long.parseLong(answer);
    }

    /**
     * Reports that this member has got what it requested: {@code alone}, {@code shared}, {@code awaited}, {@code token
     * N}.
     */
    void enter(String way) throws IOException {
        Check.equal("ok", ask("enter " + way));
    }

    /** Reports that this member is about to release it. */
    void leave() throws IOException {
        Check.equal("ok", ask("leave"));
    }

    /** Reports that this member is about to count a latch down. */
    void countsDown() throws IOException {
        Check.equal("ok", ask("counts-down"));
    }

    private String ask(String question) throws IOException {
        socket.getOutputStream().write((question + "\n").getBytes(StandardCharsets.US_ASCII));
        String answer = in.readLine();
        if (answer == null) {
            throw new IOException("the referee has gone");
        }
        return answer;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
