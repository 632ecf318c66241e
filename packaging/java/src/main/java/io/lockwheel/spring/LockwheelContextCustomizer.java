package io.lockwheel.spring;

import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import io.lockwheel.junit.SharedServers;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.util.ClassUtils;

/**
 * Tells an application where the server is: by properties, and by Spring Boot's own bean for that, which has the last
 * word also where the application is configured for a cluster. Contexts with equal customizers are one.
 *
 * @param annotation which server
 */
record LockwheelContextCustomizer(Lockwheel annotation) implements ContextCustomizer {
    private static final String BOOT_3 = "org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails";
    private static final String BOOT_4 = "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails";
    private static final String BUNDLE = "lockwheel";

    @Override
    public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
        LockwheelServer server = SharedServers.with(annotation);
        Map<String, Object> properties = properties(server);
        context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("lockwheel", properties));
        ClassLoader loader = context.getClassLoader();
        // Only the class for the Spring Boot that is there is loaded.
        if (ClassUtils.isPresent(BOOT_3, loader)) {
            register(context, Boot3Details.definition(server));
        } else if (ClassUtils.isPresent(BOOT_4, loader)) {
            register(context, Boot4Details.definition(server));
        }
    }

    private static Map<String, Object> properties(LockwheelServer server) {
        Map<String, Object> properties = new LinkedHashMap<>();
        properties.put("spring.data.redis.url", server.url());
        properties.put("spring.data.redis.host", server.host());
        properties.put("spring.data.redis.port", server.port());
        if (server.password() != null) {
            properties.put("spring.data.redis.password", server.password());
        }
        return properties;
    }

    private static void register(ConfigurableApplicationContext context, RootBeanDefinition definition) {
        definition.setRole(BeanDefinition.ROLE_SUPPORT);
        BeanDefinitionRegistry registry = (BeanDefinitionRegistry) context.getBeanFactory();
        registry.registerBeanDefinition("lockwheelConnectionDetails", definition);
    }
}
