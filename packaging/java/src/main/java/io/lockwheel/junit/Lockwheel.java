package io.lockwheel.junit;

import io.lockwheel.Level;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Gives tests a {@link io.lockwheel.LockwheelServer}, as a parameter or in a field, and adds its report to a failure.
 *
 * <p>A JVM has one server for each choice of options, which is reset before each test. Fields get it that are neither
 * final nor set by the test. A server that cannot be reset is replaced by a new one. On a method the annotation means a
 * server of that test alone, which ends with it, and which the constructor of its class does not get. Where
 * JUnit runs tests in parallel, those with this annotation take turns: there is one clock.
 *
 * <p>On a class with Spring's test context, the application's {@code spring.data.redis.*} and its connection details
 * name the server, and a reset keeps the application's connections.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(LockwheelExtension.class)
@ResourceLock("io.lockwheel")
public @interface Lockwheel {
    /** Where the clock begins: {@code real}, {@code manual} (now), or an instant; the last two stand still. */
    String time() default "real";

    /** Decides every random choice of the server. */
    long seed() default 0;

    /** More parameters, as on the server's command line. */
    String[] args() default {};

    /** From which level on findings in the history fail a test: {@code Level.VIOLATION}, {@code Level.SUSPECT}. */
    Level verify() default Level.OFF;

    /**
     * Several servers in one process and on one clock: {@code replicas 2}, {@code sentinel 3}, {@code cluster 3x1}. Each
     * test has a topology of its own, and so has its constructor; what runs once for all tests of a class has none.
     */
    String topology() default "";
}
