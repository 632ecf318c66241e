package lockwheel;

import java.util.List;
import java.util.Map;
import org.redisson.api.GeoEntry;
import org.redisson.api.GeoOrder;
import org.redisson.api.GeoUnit;
import org.redisson.api.RGeo;

/** Places, found by radius. */
public final class GeoGroup implements Groups.Group {
    @Override
    public void addTo(List<Scenario> scenarios) {
        scenarios.add(new Scenario("geo.all", GeoGroup::all));
    }

    private static void all(Scene scene) throws Throwable {
        RGeo<String> geo = scene.a().getGeo(scene.name());
        GeoEntry palermo = new GeoEntry(13.361389, 38.115556, "Palermo");
        GeoEntry catania = new GeoEntry(15.087269, 37.502669, "Catania");
        Check.equal(2L, geo.add(palermo, catania));
        Check.equal(166.2742, geo.dist("Palermo", "Catania", GeoUnit.KILOMETERS));
        Check.equal(Map.of("Palermo", "sqc8b49rny0", "Catania", "sqdtr74hyu0"), geo.hash("Palermo", "Catania"));
        Check.equal(1, geo.pos("Palermo", "none").size());
        Check.equal(List.of("Catania", "Palermo"), geo.radius(15, 37, 200, GeoUnit.KILOMETERS, GeoOrder.ASC));
        Check.equal(List.of("Palermo"), geo.radius("Palermo", 100, GeoUnit.KILOMETERS));
        Check.equal(1L, geo.radiusStoreTo(scene.name("stored"), 15, 37, 100, GeoUnit.KILOMETERS));
        Check.equal(1L, scene.raw().number("ZCARD", scene.name("stored")));
    }
}
