package io.lockwheel.spring;

import io.lockwheel.LockwheelServer;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;

/** Where the server is, as Spring Boot 4 wants to be told. */
record Boot4Details(LockwheelServer server)
        implements DataRedisConnectionDetails, DataRedisConnectionDetails.Standalone {
    static RootBeanDefinition definition(LockwheelServer server) {
        return new RootBeanDefinition(DataRedisConnectionDetails.class, () -> new Boot4Details(server));
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
