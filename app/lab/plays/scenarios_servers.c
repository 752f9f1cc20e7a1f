/*
 * Scenarios 14 to 17: locks on other servers than the stock, and what becomes of them when these fail.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

enum {
    LEASE_MS = 60000,     /* a redlock waits for a server for a hundredth of it */
    SYNC_MS = 100,        /* no replica will answer... */
    LONG_SYNC_MS = 10000, /* ...and one will */
    ALL_THREE = STAGE_SERVER(1) | STAGE_SERVER(2) | STAGE_SERVER(3),
};

/* ---- 14: a primary and its replica ------------------------------------------------------------------- */

/* As an actor: it has its mutex on that server. */
#define WITH_MUTEX(server, sync)                                                                   \
    {                                                                                              \
        .guard = &scenario_guard_mutex_elsewhere, .lease_ms = LEASE_MS,                            \
        .servers = STAGE_SERVER(server), .sync_ms = (sync)                                         \
    }
#define BREAKS                                                                                     \
    BREAK_LINK("the link between redis-1 and its replica redis-2 breaks",                          \
               "redis-1 与它的副本 redis-2 之间的连接断了")

static const struct stage_move failover[] = {
    BREAKS,
    UNTIL(A, "XADD",
          "takes the lock on redis-1, which says OK before any replica has it; reads: one is left; "
          "is about to write",
          "在 redis-1 上加锁，还没有副本收到，它就回答了 OK；读到：还剩一盏；正要写入"),
    FAIL_OVER("redis-1 dies, and redis-2 is promoted: it has never heard of A",
              "redis-1 宕机，redis-2 升为主节点：它从没听说过 A"),
    UNTIL(B, "XADD", "takes the same lock on redis-2; reads: one is left; is about to write",
          "在 redis-2 上拿到同一把锁；读到：还剩一盏；正要写入"),
    FINISH(A, "writes its order; nobody is there to take the lock back",
           "写入订单；想还锁，那台服务器已经不在了"),
    FINISH(B, "writes its order too, and frees the lock", "也写入订单，释放锁"),
};

static const struct stage_move synced[] = {
    BREAKS,
    FINISH(A,
           "takes the lock and asks how many replicas have it: none. That is not held; it gives it "
           "back and sells nothing",
           "加锁，并询问有几个副本收到：一个也没有。这不算持有；它归还锁，什么也不卖"),
    MEND_LINK("the link is mended, the replica catches up", "连接恢复，副本追上进度"),
    UNTIL(B, "XADD", "takes the lock; one replica has it; reads: one is left; is about to write",
          "加锁；有一个副本收到；读到：还剩一盏；正要写入"),
    FAIL_OVER("redis-1 dies, and redis-2 is promoted: it knows of B",
              "redis-1 宕机，redis-2 升为主节点：它知道 B"),
    FINISH(C, "finds the lock taken on redis-2", "在 redis-2 上发现锁被占用"),
    FINISH(B, "sells the last lamp", "卖出最后一盏灯"),
};

/* ---- 15 to 17: independent servers ------------------------------------------------------------------- */

#define WITH_REDLOCK(way, cut)                                                                     \
    {                                                                                              \
        .guard = (way), .lease_ms = LEASE_MS, .servers = ALL_THREE, .cut_off = (cut)               \
    }

static const struct stage_move redlock[] = {
    KILL_SERVER(3, "redis-3 dies", "redis-3 宕机"),
    UNTIL(A, "EVALSHA purchase.lua",
          "asks all servers at once, and has two votes of three: a majority; is about to buy",
          "同时询问所有服务器，三票得两票：多数；正要购买"),
    FINISH(B, "asks the two that are up: both have voted for A", "询问在线的两台：都已投给 A"),
    START_SERVER(3, "redis-3 is back; it has voted for nobody", "redis-3 恢复；它没有投过票"),
    FINISH(C, "has one vote of three, which is no majority; gives it back",
           "三票只得一票，不是多数；归还"),
    FINISH(A, "buys the last lamp, gives back its votes", "买到最后一盏灯，归还它的票"),
};

/* A and C are on two sides of a broken network; only redis-2 is in reach of both. */
#define TWO_MAJORITIES(write)                                                                      \
    UNTIL(A, write,                                                                                \
          "does not reach redis-3, and has the votes of the others: a majority; is about to "      \
          "write",                                                                                 \
          "连不上 redis-3，得到另外两台的票：多数；正要写入"),                                     \
        FINISH(B, "does not reach redis-1; redis-2 has voted for A. It gives redis-3's vote back", \
               "连不上 redis-1；redis-2 已投给 A。它归还 redis-3 的票"),                           \
        KILL_SERVER(2, "redis-2 dies", "redis-2 宕机"),                                            \
        START_SERVER(2,                                                                            \
                     "redis-2 is back at once. It kept nothing on disk: its vote for A is "        \
                     "forgotten",                                                                  \
                     "redis-2 马上恢复。它没有写盘：投给 A 的票被忘了"),                           \
        UNTIL(C, write, "does what B did, and has two votes of three: a second majority",          \
              "和 B 做的一样，三票得两票：第二个多数")

static const struct stage_move empty_restart[] = {
    TWO_MAJORITIES("XADD"),
    FINISH(A, "writes its order. redis-2 does not take its release: the vote is C's now",
           "写入订单。redis-2 不接受它的释放：票已经是 C 的了"),
    FINISH(C, "writes its order too", "也写入订单"),
};

static const struct stage_move redlock_script[] = {
    TWO_MAJORITIES("EVALSHA purchase.lua"),
    FINISH(A, "buys the last lamp", "买到最后一盏灯"),
    FINISH(C, "its purchase is one atomic step too: it finds nothing left",
           "它的购买也是一个原子步骤：发现已经没有了"),
};

static const struct stage_move delayed_restart[] = {
    UNTIL(A, "XADD", "does not reach redis-3, and has the votes of the others; is about to write",
          "连不上 redis-3，得到另外两台的票；正要写入"),
    KILL_SERVER(2, "redis-2 dies, and is kept down for longer than the longest lease",
                "redis-2 宕机，并且停机的时间要超过最长的租约"),
    FINISH(B, "has one vote of three; gives it back", "三票只得一票；归还"),
    UNTIL(A, "redis-1> EVALSHA mutex_release", "writes its order, and is never heard of again",
          "写入订单，然后再也没有消息"),
    LAPSE(LAMP, "the longest lease is over, A's too, wherever it is",
          "最长的租约已经过去，A 的也到期了，不管它在哪里"),
    START_SERVER(2, "only now redis-2 comes back. Its vote for A would be over anyway",
                 "redis-2 现在才恢复。它投给 A 的票反正已经过期"),
    FINISH(C, "has all votes; reads: nothing is left", "得到全部的票；读到：已售罄"),
};

const struct lab_scenario scenarios_servers[] = {
    {LESSON("14a", "failover", "A failover right after the lock was taken", "刚加锁就故障转移",
            "A primary answers before its replicas have what it answers.\nWhen it dies in between, "
            "the replica that takes its place has never seen the lock, and gives it to the next "
            "who asks: two holders, each with a perfect lock. Sentinel and Cluster choose a new "
            "primary; they do not give it what it lacks.",
            "主节点在副本收到之前就已回答。\n如果它恰好这时宕机，接替它的副本从没见过这把锁，就会把"
            "锁给下一个请求者：两个持有者，各自的锁都完美无缺。哨兵和集群会选出新的主节点，但补不上"
            "它缺的数据。"),
     .expected = {{LAB_TWO_HOLDERS, 4}, {LAB_OVERSOLD, 6}}, .leads_to = "synced-lock",
     .cast = {WITH_MUTEX(1, 0), WITH_MUTEX(2, 0)}, .servers = 2, .has_replica = true,
     MOVES(failover)},
    {LESSON("14b", "synced-lock", "A lock that waits for its replica", "等待副本确认的锁",
            "WAIT behind the SET asks how many replicas have it. Too few: the lock counts as not "
            "held, and is given back.\nWith one replica that closes the gap. With two it only "
            "narrows it: the one that confirmed need not be the one that is promoted. And each "
            "lock waits for one more round trip, or for the limit when a replica is away.",
            "SET 之后用 WAIT "
            "询问有几个副本收到。不够就不算持有，立即归还。\n只有一个副本时，缺口就此补上；有两个副"
            "本时只是变小：确认的那个未必是被提升的那个。代价是每次加锁多等一个来回，副本不在时要等"
            "到超时。"),
     .leads_to = "redlock",
     .cast = {WITH_MUTEX(1, SYNC_MS), WITH_MUTEX(1, LONG_SYNC_MS), WITH_MUTEX(2, SYNC_MS)},
     .servers = 2, .has_replica = true, MOVES(synced)},
    {LESSON("15", "redlock", "Redlock with one server down", "一台服务器宕机时的 Redlock",
            "Redlock asks several independent servers, none a replica of another, and holds the "
            "lock when a majority has voted for it.\nTwo majorities always share a server, and no "
            "server votes twice. So a minority may die, at any moment, and there is still one "
            "holder at most.",
            "Redlock "
            "询问几台互相独立的服务器（没有主从关系），得到多数票才算持有锁。\n任何两个多数至少共用"
            "一台服务器，而它只投一票。所以少数服务器随时宕机都没关系，持有者最多仍只有一个。"),
     .leads_to = "empty-restart",
     .cast = {WITH_REDLOCK(&guard_redlock, 0), WITH_REDLOCK(&guard_redlock, 0),
              WITH_REDLOCK(&guard_redlock, 0)},
     .servers = 3, MOVES(redlock)},
    {LESSON("16a", "empty-restart", "Redlock, and a server that restarts empty",
            "Redlock 与丢失数据后重启的服务器",
            "Two majorities share a server: all hangs on what that one remembers.\nWhen it "
            "restarts without its data (no append-only file, or fsync once a second) within "
            "somebody's lease, it votes again. One crash is enough, if the holder has no vote to "
            "spare: here a broken network has cost A one, and C another.",
            "两个多数共用一台服务器：一切取决于它记得什么。\n如果它在某人的租约之内丢了数据重启（没"
            "有 AOF，或者每秒才 fsync "
            "一次），就会再投一次票。只要持有者没有多余的票，一次崩溃就够了：这里网络故障让 A "
            "少了一票，C 也少了一票。"),
     .expected = {{LAB_TWO_HOLDERS, 5}, {LAB_OVERSOLD, 7}}, .leads_to = "redlock-script",
     .cast = {WITH_REDLOCK(&scenario_guard_redlock_unchecked, STAGE_SERVER(3)),
              WITH_REDLOCK(&scenario_guard_redlock_unchecked, STAGE_SERVER(1)),
              WITH_REDLOCK(&scenario_guard_redlock_unchecked, STAGE_SERVER(1))},
     .servers = 3, MOVES(empty_restart)},
    {LESSON("16b", "redlock-script", "The same restart, and a script that sells",
            "同样的重启，由脚本售卖",
            "The same accident, and the service's own guard: its redlock only makes instances take "
            "turns, and the purchase is one atomic script where the stock is.\nThe lock fails; the "
            "stock does not. What must never be wrong has to be checked where it is written, not "
            "by a lock somewhere else.",
            "同样的事故，换成本服务自己的 guard：Redlock "
            "只是让各实例轮流，购买本身是库存所在处的一个原子脚本。\n锁失效了，库存没有。绝不能错的"
            "事，要在写入的地方决定，而不是靠别处的锁。"),
     .expected = {{LAB_TWO_HOLDERS, 5}}, .leads_to = "delayed-restart",
     .cast = {WITH_REDLOCK(&guard_redlock, STAGE_SERVER(3)),
              WITH_REDLOCK(&guard_redlock, STAGE_SERVER(1)),
              WITH_REDLOCK(&guard_redlock, STAGE_SERVER(1))},
     .servers = 3, MOVES(redlock_script)},
    {LESSON("17", "delayed-restart", "Redlock, and a restart that is delayed",
            "Redlock 与延迟重启的服务器",
            "A server that may have forgotten its votes stays away until every lease that it could "
            "have voted for is over.\nMeanwhile it counts as down, which a redlock bears, and "
            "nobody gets a majority beside the holder's. (The other way is appendfsync always: it "
            "forgets nothing, and every vote waits for the disk.)",
            "可能忘了投票的服务器，要等到它可能投过的每个租约都过期才回来。\n这期间它算宕机，Redloc"
            "k 承受得住，也没有人能在持有者之外再得到多数票。（另一个办法是 appendfsync "
            "always：什么也不忘，但每一票都要等磁盘。）"),
     .leads_to = "lock-step",
     .cast = {WITH_REDLOCK(&scenario_guard_redlock_unchecked, STAGE_SERVER(3)),
              WITH_REDLOCK(&scenario_guard_redlock_unchecked, 0),
              WITH_REDLOCK(&scenario_guard_redlock_unchecked, 0)},
     .servers = 3, MOVES(delayed_restart)},
    {.name = NULL},
};
