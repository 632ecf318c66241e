package io.lockwheel.junit;

import java.lang.annotation.Annotation;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.ReflectionSupport;

/** Whether a test class has a Spring context, whose clients outlive a test. */
final class SpringContexts {
    /** The annotations of such classes; none where Spring is not there. */
    private static final List<Class<? extends Annotation>> ANNOTATIONS = Stream.of("BootstrapWith", "ContextConfiguration")
            .map(name -> ReflectionSupport.tryToLoadClass("org.springframework.test.context." + name).toOptional())
            .flatMap(Optional::stream)
            .<Class<? extends Annotation>>map(found -> found.asSubclass(Annotation.class))
            .toList();

    private SpringContexts() {}

    static boolean isUsedBy(Class<?> testClass) {
        return testClass != null
                && (ANNOTATIONS.stream().anyMatch(annotation -> AnnotationSupport.isAnnotated(testClass, annotation))
                        || isUsedBy(testClass.getEnclosingClass()));
    }
}
