package io.lockwheel.junit;

import org.junit.platform.commons.support.AnnotationSupport;
import org.springframework.test.context.BootstrapWith;
import org.springframework.test.context.ContextConfiguration;

/** Whether a test class has a Spring context, whose clients outlive a test. */
final class SpringContexts {
    private static final boolean IS_THERE = isThere();

    private SpringContexts() {}

    static boolean isUsedBy(Class<?> testClass) {
        return IS_THERE && Annotations.areOn(testClass);
    }

    private static boolean isThere() {
        try {
            Class.forName("org.springframework.test.context.BootstrapWith");
            return true;
        } catch (ClassNotFoundException withoutSpring) {
            return false;
        }
    }

    /** A class of its own: it is loaded only where Spring is there. */
    private static final class Annotations {
        static boolean areOn(Class<?> testClass) {
            for (Class<?> at = testClass; at != null; at = at.getEnclosingClass()) {
                if (AnnotationSupport.isAnnotated(at, BootstrapWith.class)
                        || AnnotationSupport.isAnnotated(at, ContextConfiguration.class)) {
                    return true;
                }
            }
            return false;
        }
    }
}
