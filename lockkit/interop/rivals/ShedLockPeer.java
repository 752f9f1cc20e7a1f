/*
 * ShedLock behind the line protocol of peer.h, with the database's clock. It never waits: here it asks again.
 */
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.jdbc.core.JdbcTemplate;

public final class ShedLockPeer extends LinePeer {
    private static final long POLL_MS = 10;
    private static final long LONG_MS = 600_000;

    private final LockProvider provider;
    private final Map<String, SimpleLock> held = new ConcurrentHashMap<>();

    private ShedLockPeer(String url) {
        PGSimpleDataSource source = new PGSimpleDataSource();

        source.setUrl(url);
        provider = new JdbcTemplateLockProvider(
            JdbcTemplateLockProvider.Configuration.builder()
                .withJdbcTemplate(new JdbcTemplate(source))
                .usingDbTime()
                .build());
    }

    private String lock(Request request) throws InterruptedException {
        long until = System.nanoTime() + request.number("wait", LONG_MS) * 1_000_000;
        Duration lease = Duration.ofMillis(request.number("lease", LONG_MS));

        while (true) {
            Optional<SimpleLock> lock = provider.lock(
                new LockConfiguration(Instant.now(), request.key(), lease, Duration.ZERO));
            if (lock.isPresent()) {
                held.put(request.holder(), lock.get());
                return "ok";
            }
            if (System.nanoTime() >= until) return "busy";
            Thread.sleep(POLL_MS);
        }
    }

    private String renew(Request request) {
        Duration lease = Duration.ofMillis(request.number("lease", LONG_MS));
        Optional<SimpleLock> lock = held.get(request.holder()).extend(lease, Duration.ZERO);

        lock.ifPresent(next -> held.put(request.holder(), next));
        return lock.isPresent() ? "ok" : "lost";
    }

    /** It says nothing of whether it had the lock still. */
    private String unlock(Request request) {
        held.remove(request.holder()).unlock();
        return "ok";
    }

    @Override
    String step(Request request) throws Exception {
        return switch (request.verb()) {
            case "version" -> versionOf("ShedLock", LockProvider.class);
            case "lock" -> lock(request);
            case "renew" -> renew(request);
            case "unlock" -> unlock(request);
            default -> "invalid";
        };
    }

    public static void main(String[] args) throws Exception {
        new ShedLockPeer(args[0]).serve();
    }
}
