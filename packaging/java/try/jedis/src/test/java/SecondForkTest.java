import static org.junit.jupiter.api.Assertions.assertEquals;

import io.lockwheel.LockwheelServer;
import io.lockwheel.junit.Lockwheel;
import java.io.IOException;
import org.junit.jupiter.api.RepeatedTest;

@Lockwheel(seed = 42)
class SecondForkTest {
    @RepeatedTest(2)
    void hasTheServerOfItsProcess(LockwheelServer server) throws IOException {
        assertEquals("0", Counted.turns(server));
    }
}
