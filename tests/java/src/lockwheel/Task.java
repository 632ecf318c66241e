package lockwheel;

import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Work in its own thread. Redisson's locks belong to threads, so a second holder needs a second thread. */
final class Task<T> {
    private final Scene scene;
    private final FutureTask<T> future;
    private final Thread thread;

    Task(Scene scene, String name, Callable<T> work) {
        this.scene = scene;
        future = new FutureTask<>(work);
        thread = new Thread(future, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** The stack of the thread, for the text of a failure. */
    String where() {
        return Arrays.toString(thread.getStackTrace());
    }

    /** Returns the result. Fails if it is not there within the scene's patience. */
    T get() throws Throwable {
        try {
            return future.get(scene.patience(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException late) {
            AssertionError error = new AssertionError("still waiting after " + scene.patience() + " ms");
            error.setStackTrace(thread.getStackTrace());
            throw error;
        } catch (ExecutionException failed) {
            throw failed.getCause();
        }
    }

    /** The id that Redisson writes in the owner's field. */
    long threadId() {
        return thread.getId();
    }

    boolean done() {
        return future.isDone();
    }

    /**
     * Waits until the thread sleeps on the latch that only a message of the server opens. Redisson subscribes, tries
     * once more, and only then sleeps there: before that moment, a lost message would go unnoticed.
     */
    void untilItWaitsForAMessage() throws Exception {
        scene.until("the thread waits for a message", () -> {
            Check.that(!done(), "the waiter still waits");
            return sleepsOnALatchOfRedisson(thread.getStackTrace());
        });
    }

    /**
     * Redisson has other semaphores, for connections; the object itself calls this one. A thread that creates a latch,
     * or finds it open, is in it too, but is not parked.
     */
    private static boolean sleepsOnALatchOfRedisson(StackTraceElement[] stack) {
        boolean parked = false;
        boolean latch = false;
        for (StackTraceElement frame : stack) {
            String type = frame.getClassName();
            parked |= type.equals("java.util.concurrent.locks.LockSupport");
            boolean here = type.equals("java.util.concurrent.Semaphore") || type.endsWith(".ReclosableLatch");
            if (latch && !here) {
                return parked && type.matches("org\\.redisson\\.Redisson[A-Za-z]+");
            }
            latch = here;
        }
        return false;
    }

    void interrupt() {
        thread.interrupt();
    }
}
