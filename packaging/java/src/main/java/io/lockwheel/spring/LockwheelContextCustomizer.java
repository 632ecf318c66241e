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
    @Override
    public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
        LockwheelServer server = SharedServers.with(annotation);
        Map<String, Object> properties = properties(server);
        context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("lockwheel", properties));
        if (ClassUtils.isPresent("org.springframework.boot.ssl.SslBundle", context.getClassLoader())) {
            ConnectionDetails.bean(server, context.getClassLoader()).ifPresent(bean -> register(context, bean));
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
