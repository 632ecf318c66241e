package io.lockwheel.spring;

import io.lockwheel.LockwheelServer;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;

/** Where the server is, as Spring Boot 3 wants to be told. */
record Boot3Details(LockwheelServer server)
        implements RedisConnectionDetails, RedisConnectionDetails.Standalone {
    static RootBeanDefinition definition(LockwheelServer server) {
        return new RootBeanDefinition(RedisConnectionDetails.class, () -> new Boot3Details(server));
    }

    @Override
    public String getPassword() {
        return server.password();
    }

    @Override
    public SslBundle getSslBundle() {
        return Trust.bundle(server);
    }

    @Override
    public Standalone getStandalone() {
        return this;
    }

    @Override
    public String getHost() {
        return server.host();
    }

    @Override
    public int getPort() {
        return server.port();
    }
}
