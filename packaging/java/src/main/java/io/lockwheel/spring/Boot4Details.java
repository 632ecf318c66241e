package io.lockwheel.spring;

import io.lockwheel.LockwheelServer;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;

/** Where the server is, as Spring Boot 4 wants to be told. */
record Boot4Details(String password, Standalone standalone) implements DataRedisConnectionDetails {
    static RootBeanDefinition definition(LockwheelServer server) {
        Standalone standalone = Standalone.of(server.host(), server.port());
        Boot4Details details = new Boot4Details(server.password(), standalone);
        return new RootBeanDefinition(DataRedisConnectionDetails.class, () -> details);
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
