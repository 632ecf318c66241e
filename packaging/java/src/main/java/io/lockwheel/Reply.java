package io.lockwheel;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** Readers of replies. */
final class Reply {
    private Reply() {}

    /** The name of a component in the reply. */
    @Retention(RetentionPolicy.RUNTIME)
    @interface Name {
        String value();
    }

    /** A duration in the form of PTTL: negative if there is no end. */
    @Retention(RetentionPolicy.RUNTIME)
    @interface TimeLeft {}

    /** A record whose components are told apart by their positions. */
    @Retention(RetentionPolicy.RUNTIME)
    @interface Positions {}

    static long number(Object reply) {
        return reply instanceof String digits ? Long.parseLong(digits) : (Long) reply;
    }

    static boolean flag(Object reply) {
        return Resp.isTrue(reply);
    }

    /** A text; of bytes that are none, what is. */
    static String text(Object reply) {
        return Report.shown(reply);
    }

    static Instant instant(Object reply) {
        return Instant.ofEpochMilli(number(reply));
    }

    static List<Long> numbers(Object reply) {
        return ((List<?>) reply).stream().map(Reply::number).toList();
    }

    static <T> List<T> list(Class<T> type, Object reply) {
        return reply == null ? List.of() : ((List<?>) reply).stream().map(each -> read(type, each)).toList();
    }

    static <T> Map<String, T> byName(Class<T> type, Object reply) {
        Map<String, T> found = new LinkedHashMap<>();
        Resp.fields(reply).forEach((name, each) -> found.put(name, read(type, each)));
        return found;
    }

    /** A record; null where the reply is. */
    static <T> T read(Class<T> type, Object reply) {
        if (reply == null) {
            return null;
        }
        RecordComponent[] components = type.getRecordComponents();
        boolean hasPositions = type.isAnnotationPresent(Positions.class);
        Map<String, Object> fields = hasPositions ? Map.of() : Resp.fields(reply);
        Object[] values = new Object[components.length];
        for (int at = 0; at < values.length; at++) {
            Object told = hasPositions ? ((List<?>) reply).get(at) : fields.get(name(components[at]));
            values[at] = value(components[at], told);
        }
        try {
            Class<?>[] types = Stream.of(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
            return type.getDeclaredConstructor(types).newInstance(values);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static String name(RecordComponent component) {
        Name name = component.getAnnotation(Name.class);
        return name == null ? component.getName() : name.value();
    }

    private static Object value(RecordComponent component, Object told) {
        if (component.getType() == List.class) {
            Type of = ((ParameterizedType) component.getGenericType()).getActualTypeArguments()[0];
            List<?> elements = told == null ? List.of() : (List<?>) told;
            return elements.stream().map(each -> value((Class<?>) of, each)).toList();
        }
        boolean hasNoEnd = component.isAnnotationPresent(TimeLeft.class) && told instanceof Long left && left < 0;
        return hasNoEnd ? null : value(component.getType(), told);
    }

    private static Object value(Class<?> type, Object told) {
        if (type == boolean.class) {
            return flag(told);
        }
        if (told == null) {
            return null;
        }
        if (type == long.class || type == Long.class) {
            return number(told);
        }
        if (type == Double.class) {
            return told instanceof Double real ? real : Double.valueOf(text(told));
        }
        if (type == Duration.class) {
            return Duration.ofMillis(number(told));
        }
        if (type == Level.class) {
            return Level.valueOf(text(told).toUpperCase(Locale.ROOT));
        }
        return type == Instant.class ? instant(told) : type == String.class ? text(told) : read(type, told);
    }
}
