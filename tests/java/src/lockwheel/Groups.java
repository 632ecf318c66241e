package lockwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** All groups of scenarios, including those that only some versions of the client have. */
final class Groups {
    /** A class with scenarios about one kind of object. */
    interface Group {
        /** Adds the group's scenarios, in the order in which they are to start. */
        void addTo(List<Scenario> scenarios);
    }

    /** The groups that are compiled only if the version has the tested objects; the name tells which ones. */
    private static final String[] OPTIONAL = {"RateLimiter", "SpinLock", "FencedLock", "Geo", "Stream", "Function", "LocalCache", "NativeMap", "ClientSideCaching"};

    /** The optional groups that are tested with native requests. */
    private static final String[] OPTIONAL_NATIVE = {"NativeFenced", "NativeRate"};

    private Groups() {}

    /**
     * The scenarios of this version, the long ones first; those with native locks only on request. Prints the optional
     * groups that the version does not have.
     */
    static List<Scenario> scenarios(boolean nativeLocks, Consumer<String> absent) {
        List<Scenario> scenarios = new ArrayList<>();
        List<Group> groups = new ArrayList<>(List.of(
                new TwoProcessesGroup(),
                new PlainLockGroup(),
                new FairLockGroup(),
                new ReadWriteLockGroup(),
                new SeveralServersGroup(),
                new SemaphoreGroup(),
                new LatchGroup(),
                new QueueGroup(),
                new ConnectionGroup(),
                new TopicGroup(),
                new ValueGroup(),
                new CollectionGroup(),
                new SketchGroup(),
                new ScriptGroup()));
        if (nativeLocks) {
            groups.add(new NativeGroup());
            groups.add(new NativeModesGroup());
            groups.add(new NativeMessagesGroup());
            addOptional(groups, OPTIONAL_NATIVE, ignored -> {});
        }
        addOptional(groups, OPTIONAL, absent);
        for (Group group : groups) {
            group.addTo(scenarios);
        }
        return scenarios;
    }

    private static void addOptional(List<Group> groups, String[] names, Consumer<String> absent) {
        for (String name : names) {
            Group group = optional(name);
            if (group == null) {
                absent.accept(name);
            } else {
                groups.add(group);
            }
        }
    }

    /** The scenarios that advance the server's clock. */
    static List<Scenario> ofClock() {
        List<Scenario> scenarios = new ArrayList<>();
        new ClockGroup().addTo(scenarios);
        return scenarios;
    }

    /** The scenarios with a failover. */
    static List<Scenario> ofFailover() {
        List<Scenario> scenarios = new ArrayList<>();
        Failover.addTo(scenarios);
        return scenarios;
    }

    /** A group that not all versions have, or null. */
    static Group optional(String name) {
        try {
            return (Group) Class.forName("lockwheel." + name + "Group").getDeclaredConstructor().newInstance();
        } catch (ClassNotFoundException absent) {
            return null;
        } catch (ReflectiveOperationException broken) {
            throw new IllegalStateException(name, broken);
        }
    }
}
