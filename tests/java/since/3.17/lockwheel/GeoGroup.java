package lockwheel;

// Their package has changed with 4.0.
import java.util.List;
import java.util.Map;
import org.redisson.api.*;
import org.redisson.api.geo.*;

/** Places, found by radius and in boxes. */
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
        Check.that(!geo.tryAdd(13, 38, "Palermo"), "it is there");
        Check.equal(166.2742, geo.dist("Palermo", "Catania", GeoUnit.KILOMETERS));
        Check.equal(Map.of("Palermo", "sqc8b49rny0", "Catania", "sqdtr74hyu0"), geo.hash("Palermo", "Catania"));
        Check.equal(1, geo.pos("Palermo", "none").size());
        Check.equal(
                List.of("Catania", "Palermo"),
                geo.search(GeoSearchArgs.from(15, 37).radius(200, GeoUnit.KILOMETERS).order(GeoOrder.ASC)));
        Check.equal(
                List.of("Catania"),
                geo.search(GeoSearchArgs.from(15, 37).radius(200, GeoUnit.KILOMETERS).order(GeoOrder.ASC).count(1)));
        Check.equal(
                List.of("Palermo"),
                geo.search(GeoSearchArgs.from("Palermo").box(100, 100, GeoUnit.KILOMETERS)));
        Map<String, Double> distances = geo.searchWithDistance(
                GeoSearchArgs.from(15, 37).radius(200, GeoUnit.KILOMETERS).order(GeoOrder.DESC));
        Check.equal(Map.of("Palermo", 190.4424, "Catania", 56.4413), distances);
        Check.equal(2, geo.searchWithPosition(GeoSearchArgs.from(15, 37).radius(200, GeoUnit.KILOMETERS)).size());
        Check.equal(1L, geo.storeSearchTo(scene.name("stored"), GeoSearchArgs.from(15, 37).radius(100, GeoUnit.KILOMETERS)));
        Check.equal(1L, geo.storeSortedSearchTo(scene.name("sorted"), GeoSearchArgs.from(15, 37).radius(100, GeoUnit.KILOMETERS)));
        // Older servers write it with more digits.
        String distance = scene.raw().text("ZINCRBY", scene.name("sorted"), "0", catania(scene));
        Check.equal(56.441257870158204, Double.parseDouble(distance));
    }

    /** The member as the client's codec writes it. */
    private static String catania(Scene scene) throws Exception {
        return scene.raw().texts("ZRANGE", scene.name("sorted"), "0", "-1").get(0);
    }
}
