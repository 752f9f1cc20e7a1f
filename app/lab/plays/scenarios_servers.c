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

static int add_with_mutex(struct stage *stage, const char *name, unsigned server, int64_t sync_ms)
{
    return stage_add(stage, &(struct stage_cast){.name = name,
                                                 .guard = &scenario_guard_mutex_elsewhere,
                                                 .lease_ms = LEASE_MS,
                                                 .servers = STAGE_SERVER(server),
                                                 .sync_ms = sync_ms});
}

static void play_failover(struct stage *stage)
{
    stage_servers(stage, 2);
    stage_replicate(stage, 1, 2);
    int a = add_with_mutex(stage, "A", 1, 0);
    int b = add_with_mutex(stage, "B", 2, 0);

    stage_sell(stage, 1);
    stage_break_link(stage, LAB_TEXT("the link between redis-1 and its replica redis-2 breaks",
                                     "redis-1 与它的副本 redis-2 之间的连接断了"));
    stage_until(
        stage, a, "XADD",
        LAB_TEXT("takes the lock on redis-1, which says OK before any replica has it; reads: one "
                 "is left; is about to write",
                 "在 redis-1 上加锁，还没有副本收到，它就回答了 OK；读到：还剩一盏；正要写入"));
    stage_fail_over(stage,
                    LAB_TEXT("redis-1 dies, and redis-2 is promoted: it has never heard of A",
                             "redis-1 宕机，redis-2 升为主节点：它从没听说过 A"));
    stage_until(stage, b, "XADD",
                LAB_TEXT("takes the same lock on redis-2; reads: one is left; is about to write",
                         "在 redis-2 上拿到同一把锁；读到：还剩一盏；正要写入"));
    stage_finish(stage, a,
                 LAB_TEXT("writes its order; nobody is there to take the lock back",
                          "写入订单；想还锁，那台服务器已经不在了"));
    stage_finish(stage, b,
                 LAB_TEXT("writes its order too, and frees the lock", "也写入订单，释放锁"));
}

static void play_synced(struct stage *stage)
{
    stage_servers(stage, 2);
    stage_replicate(stage, 1, 2);
    int a = add_with_mutex(stage, "A", 1, SYNC_MS);
    int b = add_with_mutex(stage, "B", 1, LONG_SYNC_MS);
    int c = add_with_mutex(stage, "C", 2, SYNC_MS);

    stage_sell(stage, 1);
    stage_break_link(stage, LAB_TEXT("the link between redis-1 and its replica redis-2 breaks",
                                     "redis-1 与它的副本 redis-2 之间的连接断了"));
    stage_finish(
        stage, a,
        LAB_TEXT("takes the lock and asks how many replicas have it: none. That is not held; it "
                 "gives it back and sells nothing",
                 "加锁，并询问有几个副本收到：一个也没有。这不算持有；它归还锁，什么也不卖"));
    stage_mend_link(
        stage, LAB_TEXT("the link is mended, the replica catches up", "连接恢复，副本追上进度"));
    stage_until(
        stage, b, "XADD",
        LAB_TEXT("takes the lock; one replica has it; reads: one is left; is about to write",
                 "加锁；有一个副本收到；读到：还剩一盏；正要写入"));
    stage_fail_over(stage, LAB_TEXT("redis-1 dies, and redis-2 is promoted: it knows of B",
                                    "redis-1 宕机，redis-2 升为主节点：它知道 B"));
    stage_finish(stage, c,
                 LAB_TEXT("finds the lock taken on redis-2", "在 redis-2 上发现锁被占用"));
    stage_finish(stage, b, LAB_TEXT("sells the last lamp", "卖出最后一盏灯"));
}

/* ---- 15 to 17: independent servers ------------------------------------------------------------------- */

static int add_with_redlock(struct stage *stage, const char *name, const struct guard *guard,
                            unsigned cut_off)
{
    return stage_add(stage, &(struct stage_cast){.name = name,
                                                 .guard = guard,
                                                 .lease_ms = LEASE_MS,
                                                 .servers = ALL_THREE,
                                                 .cut_off = cut_off});
}

static void play_redlock(struct stage *stage)
{
    stage_servers(stage, 3);
    int a = add_with_redlock(stage, "A", &guard_redlock, 0);
    int b = add_with_redlock(stage, "B", &guard_redlock, 0);
    int c = add_with_redlock(stage, "C", &guard_redlock, 0);

    stage_sell(stage, 1);
    stage_kill_server(stage, 3, LAB_TEXT("redis-3 dies", "redis-3 宕机"));
    stage_until(
        stage, a, "EVALSHA purchase.lua",
        LAB_TEXT("asks all servers at once, and has two votes of three: a majority; is about to "
                 "buy",
                 "同时询问所有服务器，三票得两票：多数；正要购买"));
    stage_finish(
        stage, b,
        LAB_TEXT("asks the two that are up: both have voted for A", "询问在线的两台：都已投给 A"));
    stage_start_server(
        stage, 3,
        LAB_TEXT("redis-3 is back; it has voted for nobody", "redis-3 恢复；它没有投过票"));
    stage_finish(stage, c,
                 LAB_TEXT("has one vote of three, which is no majority; gives it back",
                          "三票只得一票，不是多数；归还"));
    stage_finish(
        stage, a,
        LAB_TEXT("buys the last lamp, gives back its votes", "买到最后一盏灯，归还它的票"));
}

/* A and C are on two sides of a broken network; only redis-2 is in reach of both. */
static void play_restart(struct stage *stage, const struct guard *guard, const char *write)
{
    stage_servers(stage, 3);
    int a = add_with_redlock(stage, "A", guard, STAGE_SERVER(3));
    int b = add_with_redlock(stage, "B", guard, STAGE_SERVER(1));
    int c = add_with_redlock(stage, "C", guard, STAGE_SERVER(1));

    stage_sell(stage, 1);
    stage_until(
        stage, a, write,
        LAB_TEXT("does not reach redis-3, and has the votes of the others: a majority; is about "
                 "to write",
                 "连不上 redis-3，得到另外两台的票：多数；正要写入"));
    stage_finish(
        stage, b,
        LAB_TEXT("does not reach redis-1; redis-2 has voted for A. It gives redis-3's vote back",
                 "连不上 redis-1；redis-2 已投给 A。它归还 redis-3 的票"));
    stage_kill_server(stage, 2, LAB_TEXT("redis-2 dies", "redis-2 宕机"));
    stage_start_server(
        stage, 2,
        LAB_TEXT("redis-2 is back at once. It kept nothing on disk: its vote for A is forgotten",
                 "redis-2 马上恢复。它没有写盘：投给 A 的票被忘了"));
    stage_until(stage, c, write,
                LAB_TEXT("does what B did, and has two votes of three: a second majority",
                         "和 B 做的一样，三票得两票：第二个多数"));
    if (guard == &guard_redlock) {
        stage_finish(stage, a, LAB_TEXT("buys the last lamp", "买到最后一盏灯"));
        stage_finish(stage, c,
                     LAB_TEXT("its purchase is one atomic step too: it finds nothing left",
                              "它的购买也是一个原子步骤：发现已经没有了"));
        return;
    }
    stage_finish(
        stage, a,
        LAB_TEXT("writes its order. redis-2 does not take its release: the vote is C's now",
                 "写入订单。redis-2 不接受它的释放：票已经是 C 的了"));
    stage_finish(stage, c, LAB_TEXT("writes its order too", "也写入订单"));
}

static void play_empty_restart(struct stage *stage)
{
    play_restart(stage, &scenario_guard_redlock_unchecked, "XADD");
}

static void play_redlock_script(struct stage *stage)
{
    play_restart(stage, &guard_redlock, "EVALSHA purchase.lua");
}

static void play_delayed_restart(struct stage *stage)
{
    const struct guard *guard = &scenario_guard_redlock_unchecked;

    stage_servers(stage, 3);
    int a = add_with_redlock(stage, "A", guard, STAGE_SERVER(3));
    int b = add_with_redlock(stage, "B", guard, 0);
    int c = add_with_redlock(stage, "C", guard, 0);

    stage_sell(stage, 1);
    stage_until(
        stage, a, "XADD",
        LAB_TEXT("does not reach redis-3, and has the votes of the others; is about to write",
                 "连不上 redis-3，得到另外两台的票；正要写入"));
    stage_kill_server(stage, 2,
                      LAB_TEXT("redis-2 dies, and is kept down for longer than the longest lease",
                               "redis-2 宕机，并且停机的时间要超过最长的租约"));
    stage_finish(stage, b, LAB_TEXT("has one vote of three; gives it back", "三票只得一票；归还"));
    stage_until(
        stage, a, "redis-1> EVALSHA mutex_release",
        LAB_TEXT("writes its order, and is never heard of again", "写入订单，然后再也没有消息"));
    stage_lapse(stage, STAGE_KEY("lock"),
                LAB_TEXT("the longest lease is over, A's too, wherever it is",
                         "最长的租约已经过去，A 的也到期了，不管它在哪里"));
    stage_start_server(stage, 2,
                       LAB_TEXT("only now redis-2 comes back. Its vote for A would be over anyway",
                                "redis-2 现在才恢复。它投给 A 的票反正已经过期"));
    stage_finish(stage, c,
                 LAB_TEXT("has all votes; reads: nothing is left", "得到全部的票；读到：已售罄"));
}

const struct lab_scenario scenarios_servers[] = {
    {.number = "14a",
     .name = "failover",
     .title = {"Failover forgets the lock", "故障转移忘记了锁"},
     .lesson =
         {"A primary answers before its replicas have what it answers. When it dies in between, "
          "the replica that takes its place has never seen the lock, and gives it to the next "
          "who asks: two holders, each with a perfect lock. Sentinel and Cluster choose a new "
          "primary; they do not give it what it lacks.",
          "主节点在副本收到之前就已回答。如果它恰好这时宕机，接替它的副本从没见过这把锁，就会把锁"
          "给下一个请求者：两个持有者，各自的锁都完美无缺。哨兵和集群会选出新的主节点，但补不上它"
          "缺的数据。"},
     .expected = {{LAB_TWO_HOLDERS, 4}, {LAB_OVERSOLD, 6}},
     .leads_to = "synced-lock",
     .play = play_failover},
    {.number = "14b",
     .name = "synced-lock",
     .title = {"The lock that waits for its replica", "等待副本确认的锁"},
     .lesson =
         {"WAIT behind the SET asks how many replicas have it. Too few: the lock counts as not "
          "held, and is given back. With one replica that closes the gap. With two it only "
          "narrows it: the one that confirmed need not be the one that is promoted. And each "
          "lock waits for one more round trip, or for the limit when a replica is away.",
          "SET 之后用 WAIT 询问有几个副本收到。不够就不算持有，立即归还。只有一个副本时，缺口就此"
          "补上；有两个副本时只是变小：确认的那个未必是被提升的那个。代价是每次加锁多等一个来回，"
          "副本不在时要等到超时。"},
     .leads_to = "redlock",
     .play = play_synced},
    {.number = "15",
     .name = "redlock",
     .title = {"Redlock keeps exclusion with one server down", "一台服务器宕机，Redlock 依然互斥"},
     .lesson =
         {"Redlock asks several independent servers, none a replica of another, and holds the "
          "lock when a majority has voted for it. Two majorities always share a server, and that "
          "one votes once. So a minority may die, at any moment, and there is still one holder "
          "at most.",
          "Redlock 询问几台互相独立的服务器（没有主从关系），得到多数票才算持有锁。任何两个多数至"
          "少共用一台服务器，而它只投一票。所以少数服务器随时宕机都没关系，持有者最多仍只有一个。"},
     .leads_to = "empty-restart",
     .play = play_redlock},
    {.number = "16a",
     .name = "empty-restart",
     .title = {"A server that restarts empty breaks it", "空着重启的服务器破坏了它"},
     .lesson =
         {"Two majorities share a server: all hangs on what that one remembers. When it restarts "
          "without its data (no append-only file, or fsync once a second) within somebody's "
          "lease, it votes again. One crash is enough, if the holder has no vote to spare: here "
          "a broken network has cost A one, and C another.",
          "两个多数共用一台服务器：一切取决于它记得什么。如果它在某人的租约之内丢了数据重启（没有"
          " AOF，或者每秒才 fsync 一次），就会再投一次票。只要持有者没有多余的票，一次崩溃就够"
          "了：这里网络故障让 A 少了一票，C 也少了一票。"},
     .expected = {{LAB_TWO_HOLDERS, 5}, {LAB_OVERSOLD, 7}},
     .leads_to = "redlock-script",
     .play = play_empty_restart},
    {.number = "16b",
     .name = "redlock-script",
     .title = {"Two holders, and nothing is oversold", "两个持有者，但没有超卖"},
     .lesson =
         {"The same accident, and the service's own guard: its redlock only makes instances take "
          "turns, and the purchase is one atomic script where the stock is. The lock fails; the "
          "stock does not. Whatever must never be wrong is decided where it is written, not by a "
          "lock elsewhere.",
          "同样的事故，换成本服务自己的 guard：Redlock 只是让各实例轮流，购买本身是库存所在处的一"
          "个原子脚本。锁失效了，库存没有。绝不能错的事，要在写入的地方决定，而不是靠别处的锁。"},
     .expected = {{LAB_TWO_HOLDERS, 5}},
     .leads_to = "delayed-restart",
     .play = play_redlock_script},
    {.number = "17",
     .name = "delayed-restart",
     .title = {"The delayed restart mends it", "延迟重启补上了漏洞"},
     .lesson =
         {"A server that may have forgotten its votes stays away until every lease that it could "
          "have voted for is over. Meanwhile it counts as down, which a redlock bears, and "
          "nobody gets a majority beside the holder's. (The other way is appendfsync always: it "
          "forgets nothing, and every vote waits for the disk.)",
          "可能忘了投票的服务器，要等到它可能投过的每个租约都过期才回来。这期间它算宕机，Redlock "
          "承受得住，也没有人能在持有者之外再得到多数票。（另一个办法是 appendfsync always：什么"
          "也不忘，但每一票都要等磁盘。）"},
     .leads_to = "lock-step",
     .play = play_delayed_restart},
    {.name = NULL},
};
