package io.lockwheel.spring;

import io.lockwheel.LockwheelServer;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.stream.Stream;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslStoreBundle;
import org.springframework.util.ClassUtils;

/**
 * The connection details of Spring Boot. Versions 3 and 4 have the same methods under different names of the interface.
 *
 * @param server the server that they describe
 */
record ConnectionDetails(LockwheelServer server) implements InvocationHandler {
    private static final String BOOT_3 = "org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails";
    private static final String BOOT_4 = "org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails";

    /** Returns the bean for the version of Spring Boot that is there, if there is one. */
    static Optional<RootBeanDefinition> bean(LockwheelServer server, ClassLoader loader) {
        return Stream.of(BOOT_3, BOOT_4)
                .filter(name -> ClassUtils.isPresent(name, loader))
                .findFirst()
                .map(name -> bean(server, loader, ClassUtils.resolveClassName(name, loader)));
    }

    private static <T> RootBeanDefinition bean(LockwheelServer server, ClassLoader loader, Class<T> type) {
        Class<?> standalone = ClassUtils.resolveClassName(type.getName() + "$Standalone", loader);
        Class<?>[] types = {type, standalone};
        T details = type.cast(Proxy.newProxyInstance(loader, types, new ConnectionDetails(server)));
        return new RootBeanDefinition(type, () -> details);
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        return switch (method.getName()) {
            case "getPassword" -> server.password();
            case "getHost" -> server.host();
            case "getPort" -> server.port();
            case "getStandalone" -> proxy;
            case "getSslBundle" -> server.usesTls()
                    ? SslBundle.of(SslStoreBundle.of(null, null, server.trustStore()))
                    : null;
            default -> method.isDefault()
                    ? InvocationHandler.invokeDefault(proxy, method, arguments)
                    : method.invoke(this, arguments);
        };
    }
}
