/*
 * Redisson behind the line protocol of peer.h, so that a test can let it contend with lockkit.
 *
 * Each thread number of the protocol is one Java thread, because that is what owns a lock of
 * Redisson. The program ends with its standard input, at once: what it holds is left to the leases.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RScript;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

public final class RedissonPeer {
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;
    private static final String CLUSTER = "redis+cluster://";
    private static final long NONE = -1;
    private static final long LONG_MS = 600_000;
    private static final long TURN_MS = 30_000;
    private static final long PAUSE_MS = 2; // outside, so that others get their turn

    private final RedissonClient redisson;
    private final Map<String, ExecutorService> threads = new HashMap<>();
    private final Map<String, RLock> locks = new ConcurrentHashMap<>(); // one for each thread

    /** One line of input. */
    private record Request(String id, String thread, String verb, String kind, String key,
                           Map<String, String> options) {
        static Request parse(String line) {
            String[] words = line.split(" ");
            Map<String, String> options = new HashMap<>();

            for (String word : Arrays.copyOfRange(words, 5, words.length)) {
                String[] pair = word.split("=", 2);
                options.put(pair[0], pair[1]);
            }
            return new Request(words[0], words[1], words[2], words[3], words[4], options);
        }

        long number(String name, long otherwise) {
            return Long.parseLong(options.getOrDefault(name, Long.toString(otherwise)));
        }

        long waitMs() {
            return number("wait", NONE);
        }

        long leaseMs() {
            return number("lease", NONE);
        }
    }

    /** What a request came to. */
    private record Answer(String result, Object value) {
        static Answer ok(Object value) {
            return new Answer("ok", value);
        }

        static Answer when(boolean done, String otherwise) {
            return new Answer(done ? "ok" : otherwise, "-");
        }

        boolean isOk() {
            return result.equals("ok");
        }
    }

    private RedissonPeer(String address, long watchdogMs) {
        Config config = new Config();

        config.setLockWatchdogTimeout(watchdogMs);
        if (address.startsWith(CLUSTER)) {
            for (String node : address.substring(CLUSTER.length()).split(","))
                config.useClusterServers().addNodeAddress("redis://" + node);
        } else {
            config.useSingleServer().setAddress(address).setConnectionMinimumIdleSize(2);
        }
        redisson = Redisson.create(config);
    }

    // ---- locks --------------------------------------------------------------------------------

    private static Stream<String> reversed(String[] keys) {
        List<String> list = Arrays.asList(keys);

        Collections.reverse(list);
        return list.stream();
    }

    private RLock makeLock(String kind, String key) {
        return switch (kind) {
            case "reentrant" -> redisson.getLock(key);
            case "non-reentrant" -> redisson.getNonReentrantLock(key);
            case "spin" -> redisson.getSpinLock(key);
            case "fenced" -> redisson.getFencedLock(key);
            case "fair" -> redisson.getFairLock(key);
            case "read" -> redisson.getReadWriteLock(key).readLock();
            case "write" -> redisson.getReadWriteLock(key).writeLock();
            case "multi" -> redisson.getMultiLock(reversed(key.split(",")).map(redisson::getLock)
                .toArray(RLock[]::new));
            default -> throw new IllegalArgumentException("kind " + kind);
        };
    }

    private RLock lockOf(Request request) {
        String thread = Thread.currentThread().getName();
        String name = String.join(" ", thread, request.kind(), request.key());

        return locks.computeIfAbsent(name, unused -> makeLock(request.kind(), request.key()));
    }

    private static Answer acquire(RLock lock, Request request) throws InterruptedException {
        if (request.waitMs() == NONE && request.leaseMs() == NONE) {
            lock.lock();
        } else if (request.waitMs() == NONE) {
            lock.lock(request.leaseMs(), MS);
        } else if (request.waitMs() == 0 && request.leaseMs() == NONE) {
            return Answer.when(lock.tryLock(), "busy");
        } else {
            return Answer.when(lock.tryLock(request.waitMs(), request.leaseMs(), MS), "busy");
        }
        return Answer.ok("-");
    }

    private static Answer acquireFenced(RFencedLock lock, Request request) {
        if (request.waitMs() == NONE) return Answer.ok(lock.lockAndGetToken());
        Long token = lock.tryLockAndGetToken(request.waitMs(), request.leaseMs(), MS);
        return token == null ? new Answer("busy", "-") : Answer.ok(token);
    }

    private static Answer lock(RLock lock, Request request) throws InterruptedException {
        try {
            return lock instanceof RFencedLock fenced ? acquireFenced(fenced, request)
                                                      : acquire(lock, request);
        } catch (IllegalMonitorStateException taken) { // non-reentrant, and ours already
            return new Answer("invalid", "-");
        }
    }

    private static Answer unlock(RLock lock) {
        try {
            lock.unlock();
            return Answer.ok("-");
        } catch (IllegalMonitorStateException notOurs) {
            return new Answer("not-owner", "-");
        }
    }

    private Answer useLock(RLock lock, Request request) throws InterruptedException {
        return switch (request.verb()) {
            case "lock" -> lock(lock, request);
            case "unlock" -> unlock(lock);
            case "force" -> Answer.when(lock.forceUnlock(), "not-owner");
            case "count" -> Answer.ok(lock.getHoldCount());
            case "ttl" -> Answer.ok(lock.remainTimeToLive());
            default -> throw new IllegalArgumentException("verb " + request.verb());
        };
    }

    // ---- semaphores and the latch -------------------------------------------------------------

    private static Answer useSemaphore(RSemaphore semaphore, Request request)
        throws InterruptedException {
        int count = (int) request.number("n", 1);
        Duration wait = Duration.ofMillis(request.number("wait", LONG_MS));

        return switch (request.verb()) {
            case "set" -> Answer.when(semaphore.trySetPermits(count), "busy");
            case "lock" -> Answer.when(semaphore.tryAcquire(count, wait), "busy");
            case "unlock" -> {
                semaphore.release(count);
                yield Answer.ok("-");
            }
            case "add" -> {
                semaphore.addPermits(count);
                yield Answer.ok("-");
            }
            case "drain" -> Answer.ok(semaphore.drainPermits());
            case "count" -> Answer.ok(semaphore.availablePermits());
            default -> throw new IllegalArgumentException("verb " + request.verb());
        };
    }

    private static Answer acquirePermit(RPermitExpirableSemaphore permits, Request request)
        throws InterruptedException {
        String id =
            permits.tryAcquire(request.number("wait", LONG_MS), request.leaseMs(), MS);

        return id == null ? new Answer("busy", "-") : Answer.ok(id);
    }

    private static Answer usePermits(RPermitExpirableSemaphore permits, Request request)
        throws InterruptedException {
        List<String> ids = List.of(request.options().getOrDefault("id", "").split(","));

        return switch (request.verb()) {
            case "set" -> Answer.when(permits.trySetPermits((int) request.number("n", 1)), "busy");
            case "lock" -> acquirePermit(permits, request);
            case "unlock" -> Answer.when(
                ids.size() == 1 ? permits.tryRelease(ids.get(0)) : permits.tryRelease(ids) > 0,
                "not-owner");
            case "renew" -> Answer.when(
                permits.updateLeaseTime(ids.get(0), request.leaseMs(), MS), "not-owner");
            case "count" -> Answer.ok(permits.availablePermits());
            default -> throw new IllegalArgumentException("verb " + request.verb());
        };
    }

    private static Answer useLatch(RCountDownLatch latch, Request request)
        throws InterruptedException {
        return switch (request.verb()) {
            case "set" -> Answer.when(latch.trySetCount(request.number("n", 1)), "busy");
            case "down" -> {
                latch.countDown();
                yield Answer.ok("-");
            }
            case "await" -> Answer.when(latch.await(request.number("wait", LONG_MS), MS), "busy");
            case "count" -> Answer.ok(latch.getCount());
            case "delete" -> Answer.when(latch.delete(), "not-owner");
            default -> throw new IllegalArgumentException("verb " + request.verb());
        };
    }

    // ---- contention ---------------------------------------------------------------------------

    private long call(String script, Request request) {
        String sha1 = request.options().get(script);

        return redisson.getScript(StringCodec.INSTANCE)
            .evalSha(RScript.Mode.READ_WRITE, sha1, RScript.ReturnType.LONG,
                     List.of(request.key()), request.kind(), "redisson");
    }

    /** Take it; who is told "busy" asks again, until TURN_MS have passed. */
    private Answer takeInTurn(Request take) throws InterruptedException {
        long until = System.nanoTime() + MS.toNanos(TURN_MS);
        Answer taken = use(take);

        while (!taken.isOk() && System.nanoTime() - until < 0)
            taken = use(take);
        return taken;
    }

    /**
     * Take it and give it back. To contend is to look around inside, too: the value is how often the
     * look found a fault. To bench is to be quick: the value is how often.
     */
    private Answer takeTurns(Request request, boolean isBench) throws InterruptedException {
        String wait = Long.toString(request.number("wait", TURN_MS));
        Request take = new Request("", "", "lock", request.kind(), request.key(),
                                   new HashMap<>(Map.of("wait", wait, "lease", "30000")));
        long until = System.nanoTime() + MS.toNanos(request.number("ms", 0));
        long value = 0;

        do {
            Answer taken = takeInTurn(take);
            if (!taken.isOk()) return taken;
            value += isBench ? 1 : call("enter", request) + call("leave", request);
            Map<String, String> permit = Map.of("id", taken.value().toString());
            Answer given =
                use(new Request("", "", "unlock", request.kind(), request.key(), permit));
            if (!given.isOk()) return given;
            if (!isBench) Thread.sleep(PAUSE_MS);
        } while (System.nanoTime() - until < 0);
        return Answer.ok(value);
    }

    /** Do it with each of KEY:0, KEY:1...; what is locked so is renewed. */
    private Answer each(String verb, Request request) throws InterruptedException {
        Answer answer = Answer.ok("-");

        for (long i = 0; i < request.number("n", 1) && answer.isOk(); i++) {
            String key = request.key() + ":" + i;
            answer = use(new Request("", "", verb, request.kind(), key, Map.of()));
        }
        return answer;
    }

    // ---- the protocol -------------------------------------------------------------------------

    private static String versions() {
        return "Redisson-" + Redisson.class.getPackage().getImplementationVersion();
    }

    private Answer use(Request request) throws InterruptedException {
        String key = request.key();

        if (request.verb().equals("version")) return Answer.ok(versions());
        if (request.verb().equals("contend")) return takeTurns(request, false);
        if (request.verb().equals("bench")) return takeTurns(request, true);
        if (request.verb().equals("hold")) return each("lock", request);
        if (request.verb().equals("drop")) return each("unlock", request);
        return switch (request.kind()) {
            case "semaphore" -> useSemaphore(redisson.getSemaphore(key), request);
            case "permits" -> usePermits(redisson.getPermitExpirableSemaphore(key), request);
            case "latch" -> useLatch(redisson.getCountDownLatch(key), request);
            default -> useLock(lockOf(request), request);
        };
    }

    private void serve(Request request) {
        long began = System.nanoTime();
        Answer answer;

        try {
            answer = use(request);
        } catch (Exception fault) {
            fault.printStackTrace();
            answer = new Answer("error", fault.toString().replaceAll("\\s+", "_"));
        }
        String line = "%s %s %s %d %d%n".formatted(request.id(), answer.result(), answer.value(),
                                                   began, System.nanoTime());
        synchronized (System.out) {
            System.out.print(line);
            System.out.flush();
        }
    }

    public static void main(String[] args) throws Exception {
        RedissonPeer peer = new RedissonPeer(args[0], Long.parseLong(args[1]));
        BufferedReader input =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Request request = Request.parse(line);
            peer.threads
                .computeIfAbsent(request.thread(), name -> Executors.newSingleThreadExecutor())
                .execute(() -> peer.serve(request));
        }
        Runtime.getRuntime().halt(0);
    }
}
