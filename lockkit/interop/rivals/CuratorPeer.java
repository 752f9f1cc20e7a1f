/*
 * Curator's recipes behind the line protocol of peer.h; a key is a path.
 */
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.RetryOneTime;

public final class CuratorPeer extends LinePeer {
    private static final int SESSION_MS = 2000;
    private static final int CONNECT_MS = 2000;
    private static final int AGAIN_MS = 100;
    private static final long LONG_MS = 600_000;

    private final CuratorFramework curator;
    private final Map<String, InterProcessMutex> locks = new ConcurrentHashMap<>();
    private final Map<String, Semaphore> semaphores = new ConcurrentHashMap<>();
    private final Map<String, Lease> leases = new ConcurrentHashMap<>();

    /** One whose number stands beside it. */
    private record Semaphore(SharedCount count, InterProcessSemaphoreV2 permits) {}

    private CuratorPeer(String hosts) {
        curator = CuratorFrameworkFactory.newClient(hosts, SESSION_MS, CONNECT_MS,
                                                    new RetryOneTime(AGAIN_MS));
        curator.start();
    }

    private InterProcessMutex make(Request request) {
        return switch (request.kind()) {
            case "read" -> new InterProcessReadWriteLock(curator, request.key()).readLock();
            case "write" -> new InterProcessReadWriteLock(curator, request.key()).writeLock();
            default -> new InterProcessMutex(curator, request.key());
        };
    }

    private Semaphore makeSemaphore(String key) {
        SharedCount count = new SharedCount(curator, key + "/count", 0);

        try {
            count.start();
        } catch (Exception fault) {
            throw new IllegalStateException(fault);
        }
        return new Semaphore(count, new InterProcessSemaphoreV2(curator, key, count));
    }

    private String stepPermits(Request request) throws Exception {
        Semaphore semaphore = semaphores.computeIfAbsent(request.key(), this::makeSemaphore);

        switch (request.verb()) {
            case "set":
                semaphore.count().setCount((int) request.number("n", 1));
                return "ok";
            case "lock":
                Lease lease = semaphore.permits().acquire(request.number("wait", LONG_MS),
                                                          TimeUnit.MILLISECONDS);
                if (lease != null)
                    leases.put(request.holder(), lease);
                return lease != null ? "ok" : "busy";
            case "unlock":
                semaphore.permits().returnLease(leases.remove(request.holder()));
                return "ok";
            default:
                return "invalid";
        }
    }

    private String stepBarrier(Request request) throws Exception {
        DistributedBarrier barrier = new DistributedBarrier(curator, request.key());

        switch (request.verb()) {
            case "set":
                barrier.setBarrier();
                return "ok";
            case "down":
                barrier.removeBarrier();
                return "ok";
            case "await":
                return barrier.waitOnBarrier(request.number("wait", LONG_MS), TimeUnit.MILLISECONDS)
                    ? "ok" : "busy";
            default:
                return "invalid";
        }
    }

    @Override
    String step(Request request) throws Exception {
        if (request.verb().equals("version"))
            return versionOf("Curator", InterProcessMutex.class);
        if (request.kind().equals("permits"))
            return stepPermits(request);
        if (request.kind().equals("latch"))
            return stepBarrier(request);
        InterProcessMutex lock = locks.computeIfAbsent(request.holder(), holder -> make(request));
        switch (request.verb()) {
            case "lock":
                return lock.acquire(request.number("wait", LONG_MS), TimeUnit.MILLISECONDS)
                    ? "ok" : "busy";
            case "unlock":
                lock.release();
                return "ok";
            default:
                return "invalid";
        }
    }

    public static void main(String[] args) throws Exception {
        new CuratorPeer(args[0]).serve();
    }
}
