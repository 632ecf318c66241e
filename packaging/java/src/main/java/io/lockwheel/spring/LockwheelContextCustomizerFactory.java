package io.lockwheel.spring;

import io.lockwheel.junit.Lockwheel;
import java.util.List;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.TestContextAnnotationUtils;

/** Finds {@link Lockwheel} on a test class with a Spring context. Spring finds this by its name in a file. */
final class LockwheelContextCustomizerFactory implements ContextCustomizerFactory {
    LockwheelContextCustomizerFactory() {}

    @Override
    public ContextCustomizer createContextCustomizer(
            Class<?> testClass, List<ContextConfigurationAttributes> configAttributes) {
        Lockwheel annotation = TestContextAnnotationUtils.findMergedAnnotation(testClass, Lockwheel.class);
        return annotation == null ? null : new LockwheelContextCustomizer(annotation);
    }
}
