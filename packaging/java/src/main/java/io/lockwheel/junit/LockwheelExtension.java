package io.lockwheel.junit;

import io.lockwheel.AwaitException;
import io.lockwheel.FindingsError;
import io.lockwheel.LockwheelServer;
import io.lockwheel.ReplyException;
import java.io.UncheckedIOException;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Collections;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;
import org.opentest4j.TestAbortedException;

/** What {@link Lockwheel} does. */
final class LockwheelExtension
        implements BeforeAllCallback,
                BeforeEachCallback,
                AfterEachCallback,
                AfterTestExecutionCallback,
                ParameterResolver,
                TestExecutionExceptionHandler,
                LifecycleMethodExecutionExceptionHandler {
    private static final Namespace NAMESPACE = Namespace.create(LockwheelExtension.class);

    /** The servers that fields were set to. */
    private static final Set<Object> GIVEN =
            Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    LockwheelExtension() {}

    @Override
    public void beforeAll(ExtensionContext context) {
        if (hasSharedServer(context)) {
            inject(context.getRequiredTestClass(), null, reset(context));
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        // A server of the test's own has only just begun.
        LockwheelServer server = ownAnnotation(context).isEmpty() ? reset(context) : server(context);
        for (Object instance : context.getRequiredTestInstances().getAllInstances()) {
            inject(instance.getClass(), instance, server);
        }
    }

    /** A test that has passed fails by what its server finds in the history, where it is to. */
    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isEmpty()) {
            server(context).check();
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        LockwheelServer used = context.getStore(NAMESPACE).remove(key(context), LockwheelServer.class);
        if (used != null && ownAnnotation(context).isPresent()) {
            used.stop();
        }
        ConstructedTopology.stop(context);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == LockwheelServer.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (context.getTestMethod().isPresent()) {
            return server(context);
        }
        boolean isConstructor = parameter.getDeclaringExecutable() instanceof Constructor;
        if (findClassAnnotation(context).isEmpty()) {
            throw new ParameterResolutionException("@Lockwheel on a method is a server of that test, which a constructor"
                    + " is not told of: put @Lockwheel on the class, or the parameter on the test");
        }
        if (hasSharedServer(context)) {
            return isConstructor ? reset(context) : SharedServers.with(classAnnotation(context));
        }
        if (!isConstructor || context.getTestInstanceLifecycle().equals(Optional.of(Lifecycle.PER_CLASS))) {
            throw new ParameterResolutionException("each test has a topology of its own: there is none for "
                    + parameter.getDeclaringExecutable() + ", which runs once for all tests of the class");
        }
        return ConstructedTopology.of(classAnnotation(context), context);
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        throw reported(context, failure);
    }

    @Override
    public void handleBeforeAllMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        throw reported(context, failure);
    }

    @Override
    public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable failure)
            throws Throwable {
        throw reported(context, failure);
    }

    @Override
    public void handleAfterEachMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        throw reported(context, failure);
    }

    /** The failure, with the report of this moment: what runs after the test may end the clients that wait. */
    private static Throwable reported(ExtensionContext context, Throwable failure) {
        boolean isTold = failure instanceof AwaitException
                || failure instanceof FindingsError
                || failure instanceof TestAbortedException
                || context.getTestMethod().isEmpty() && !hasSharedServer(context)
                || Arrays.stream(failure.getSuppressed()).anyMatch(ServerReport.class::isInstance);
        if (!isTold) {
            String report = server(context).report();
            failure.addSuppressed(new ServerReport(report));
            context.publishReportEntry("lockwheel", report);
        }
        return failure;
    }

    /** The test's own server, if its method asks for one; else that of its class' options. */
    private static LockwheelServer server(ExtensionContext context) {
        if (context.getTestMethod().isEmpty()) {
            return SharedServers.with(classAnnotation(context));
        }
        return context.getStore(NAMESPACE)
                .getOrComputeIfAbsent(key(context), key -> begun(context), LockwheelServer.class);
    }

    /** The server that a test begins with. */
    private static LockwheelServer begun(ExtensionContext context) {
        Optional<Lockwheel> onMethod = context.getTestMethod().flatMap(LockwheelExtension::annotation);
        if (onMethod.isPresent()) {
            return LockwheelServer.start(SharedServers.options(onMethod.get()));
        }
        Lockwheel onClass = classAnnotation(context);
        return onClass.topology().isEmpty()
                ? SharedServers.with(onClass)
                : ConstructedTopology.taken(onClass, context);
    }

    /** One for each test: a store also answers with what the contexts around it have. */
    private static String key(ExtensionContext context) {
        return context.getUniqueId();
    }

    private static Optional<Lockwheel> ownAnnotation(ExtensionContext context) {
        return context.getTestMethod().flatMap(LockwheelExtension::annotation).or(() -> classTopology(context));
    }

    /** A topology is not reset: each test of a class has one of its own. */
    private static Optional<Lockwheel> classTopology(ExtensionContext context) {
        return context.getTestMethod()
                .map(method -> classAnnotation(context))
                .filter(annotation -> !annotation.topology().isEmpty());
    }

    private static Lockwheel classAnnotation(ExtensionContext context) {
        return findClassAnnotation(context)
                .orElseThrow(() -> new IllegalStateException("@Lockwheel is not there"));
    }

    private static Optional<Lockwheel> findClassAnnotation(ExtensionContext context) {
        Class<?> at = context.getRequiredTestClass();
        while (annotation(at).isEmpty() && at.getEnclosingClass() != null) {
            at = at.getEnclosingClass();
        }
        return annotation(at);
    }

    /** Whether tests of the class share a server where their methods do not say otherwise. */
    private static boolean hasSharedServer(ExtensionContext context) {
        return findClassAnnotation(context).filter(it -> it.topology().isEmpty()).isPresent();
    }

    private static Optional<Lockwheel> annotation(AnnotatedElement element) {
        return AnnotationSupport.findAnnotation(element, Lockwheel.class);
    }

    /** The shared server as at its start; a new one where a test has left it so that it cannot be reset. */
    private static LockwheelServer reset(ExtensionContext context) {
        Lockwheel annotation = classAnnotation(context);
        LockwheelServer server = SharedServers.with(annotation);
        try {
            if (SpringContexts.isUsedBy(context.getRequiredTestClass())) {
                server.resetKeepingClients();
            } else {
                server.reset();
            }
        } catch (ReplyException | UncheckedIOException broken) {
            server = SharedServers.replacing(server, annotation);
        }
        if (context.getTestMethod().isPresent()) {
            context.getStore(NAMESPACE).put(key(context), server);
        }
        return server;
    }

    /** Sets the fields that hold a server: an instance's, and the static ones. */
    private static void inject(Class<?> declaring, Object instance, LockwheelServer server) {
        ReflectionSupport.findFields(
                        declaring,
                        field -> field.getType() == LockwheelServer.class
                                && !Modifier.isFinal(field.getModifiers())
                                && (instance != null || Modifier.isStatic(field.getModifiers())),
                        HierarchyTraversalMode.TOP_DOWN)
                .forEach(field -> set(field, instance, server));
    }

    /** Sets one, unless the test has put a server of its own there. */
    private static void set(Field field, Object instance, LockwheelServer server) {
        try {
            field.setAccessible(true);
            Object held = field.get(instance);
            if (held == null || GIVEN.contains(held)) {
                field.set(instance, server);
                GIVEN.add(server);
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(field + " cannot hold a server", error);
        }
    }
}
