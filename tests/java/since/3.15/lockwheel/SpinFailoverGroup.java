package lockwheel;

import java.util.List;

/** The spin lock, held while a replica takes over. */
public final class SpinFailoverGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("failover.spin", scene -> FailoverGroup.keeps(
                scene, scene.a().getSpinLock(scene.name()), scene.b().getSpinLock(scene.name()))));
    }
}
