package io.lockwheel.spring;

import io.lockwheel.LockwheelServer;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails;

/** Where the server is, as Spring Boot 3 wants to be told. */
record Boot3Details(String password, Standalone standalone) implements RedisConnectionDetails {
    static RootBeanDefinition definition(LockwheelServer server) {
        Standalone standalone = Standalone.of(server.host(), server.port());
        Boot3Details details = new Boot3Details(server.password(), standalone);
        return new RootBeanDefinition(RedisConnectionDetails.class, () -> details);
    }

    @Override
    public String getPassword() {
        return password;
    }

    @Override
    public Standalone getStandalone() {
        return standalone;
    }
}
