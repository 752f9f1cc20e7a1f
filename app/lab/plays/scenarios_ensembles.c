/*
 * Scenarios 30 and 31: locks in ZooKeeper, by what a session, a watch and a place in the queue are.
 */
#include <string.h>

#include "lab/stage/stage.h"
#include "scenarios.h"

/* ---- 30: the session ---------------------------------------------------------------------------------- */

#define SESSION_ENDS                                                                               \
    END_SESSION("no ping of A arrives any more; after 3 s ZooKeeper ends its session, and the "    \
                "node is gone",                                                                    \
                "A 的 ping 不再到达；3 秒后 ZooKeeper 结束它的会话，节点随之消失")

static const struct stage_move session_expired[] = {
    UNTIL(A, "XADD",
          "makes its node, which is the first: it has the lock; reads: one is left; it is still "
          "held, so it writes...",
          "建立节点，排在第一：拿到锁；读到：还剩一盏；锁还在手里，于是去写……"),
    SESSION_ENDS,
    FINISH(B, "makes its node, takes the lock, sells the last lamp, deletes the node",
           "建立节点，加锁，卖出最后一盏灯，删除节点"),
    FINISH(A, "...and the write arrives only now: Redis has never heard of that session",
           "……写入现在才到达：Redis 从没听说过那个会话"),
};

static const struct stage_move session_fenced[] = {
    UNTIL(A, "EVALSHA fence-check",
          "takes the lock; its token is the number of the transaction that made its node; sends "
          "its write with it...",
          "加锁；令牌是建立节点的那个事务的编号；带着令牌写……"),
    SESSION_ENDS,
    FINISH(B, "takes the lock, with a greater token; Redis sees it, and sells",
           "加锁，令牌更大；Redis 看到它，卖出一盏"),
    FINISH(A, "...which arrives only now: its token is lower, Redis refuses",
           "……写入现在才到：令牌更小，Redis 拒绝"),
};

/* ---- 31: the watch -------------------------------------------------------------------------------------- */

#define ASK "zookeeper> getChildren"

/* As it should be: lockkit's own. */
static void wait_for_next(struct stage_actor *self)
{
    lk_client *client =
        lk_client_open(&(struct lk_client_options){.url = stage_url_beside(self)}, NULL);
    lk_lock *lock = client ? lk_mutex_new(client, LAMP, NULL) : NULL;

    if (lock && lk_lock_wait(lock, STAGE_LONG_MS, NULL) == LK_OK) {
        herd_work(self);
        (void)lk_lock_release(lock, NULL);
    }
    lk_lock_free(lock);
    lk_client_close(client);
}

static const struct stage_move herd[] = {
    UNTIL(A, "GET", "makes its node: it is the first, so it has the lock",
          "建立节点：排在第一，拿到锁"),
    WAIT(B, "is second; watches the first node", "排第二；监视第一个节点"),
    WAIT(C, "is third; watches the first node, too", "排第三；也监视第一个节点"),
    WAIT(D, "is fourth; watches the first node, too", "排第四；也监视第一个节点"),
    FINISH(A, "works, and deletes its node", "工作，然后删除节点"),
    HEAR(B, ASK, "is woken: its turn", "被唤醒：轮到它了"),
    HEAR(C, ASK, "is woken, too", "也被唤醒"),
    HEAR(D, ASK, "is woken, too", "也被唤醒"),
    WAIT(C, "asks: B is first now; watches its node", "询问：现在 B 排第一；监视它的节点"),
    WAIT(D, "asks: B is first now; watches its node", "询问：现在 B 排第一；监视它的节点"),
    FINISH(B, "works, deletes its node, and wakes both again", "工作，删除节点，又把两个都唤醒"),
};

static const struct stage_move one_by_one[] = {
    UNTIL(A, "GET", "makes its node: it is the first, so it has the lock",
          "建立节点：排在第一，拿到锁"),
    WAIT(B, "is second; watches A's node", "排第二；监视 A 的节点"),
    WAIT(C, "is third; watches B's node", "排第三；监视 B 的节点"),
    WAIT(D, "is fourth; watches C's node", "排第四；监视 C 的节点"),
    FINISH(A, "works, and deletes its node", "工作，然后删除节点"),
    HEAR(B, ASK, "is woken, alone: its turn", "只有它被唤醒：轮到它了"),
    FINISH(B, "works, and deletes its node", "工作，然后删除节点"),
    HEAR(C, ASK, "is woken, alone: its turn", "只有它被唤醒：轮到它了"),
    FINISH(C, "works, and deletes its node", "工作，然后删除节点"),
    HEAR(D, ASK, "is woken, alone: its turn", "只有它被唤醒：轮到它了"),
    FINISH(D, "works, and deletes its node", "工作，然后删除节点"),
};

/* ---- 31: readers and writers ---------------------------------------------------------------------------- */

static void use(struct stage_actor *self, lk_lock *side)
{
    if (lk_lock_wait(side, STAGE_LONG_MS, NULL) != LK_OK) return;
    herd_work(self);
    (void)lk_lock_release(side, NULL);
}

/* Takes the read lock within the write lock, and gives the latter back first. */
static void write_and_read_on(struct stage_actor *self, lk_rwlock *lock)
{
    bool is_writer = lk_lock_wait(lk_rwlock_write(lock), STAGE_LONG_MS, NULL) == LK_OK;

    if (!is_writer || lk_lock_wait(lk_rwlock_read(lock), STAGE_LONG_MS, NULL) != LK_OK) return;
    herd_work(self);
    (void)lk_lock_release(lk_rwlock_write(lock), NULL);
    herd_work(self);
    (void)lk_lock_release(lk_rwlock_read(lock), NULL);
}

/* What it does tells keys[0]. */
static void use_in_its_way(struct stage_actor *self)
{
    const char *way = stage_key(self, 0);
    lk_client *client =
        lk_client_open(&(struct lk_client_options){.url = stage_url_beside(self)}, NULL);
    lk_rwlock *lock = client ? lk_rwlock_new(client, LAMP, NULL) : NULL;

    if (lock && strcmp(way, "both") == 0) {
        write_and_read_on(self, lock);
    } else if (lock) {
        use(self, strcmp(way, "read") == 0 ? lk_rwlock_read(lock) : lk_rwlock_write(lock));
    }
    lk_rwlock_free(lock);
    lk_client_close(client);
}

static const struct stage_move node_readers[] = {
    UNTIL(A, "GET", "makes a __READ__ node: index 0, it reads", "建立 __READ__ 节点：序号 0，读"),
    UNTIL(B, "GET", "makes another one: no writer is before it, so it reads, too",
          "再建一个：前面没有写者，也可以读"),
    WAIT(C,
         "makes a __WRIT__ node: index 2, and a writer has to be at 0 (maxLeases 1); watches B's "
         "node",
         "建立 __WRIT__ 节点：序号 2，而写者必须是 0（maxLeases 为 1）；监视 B 的节点"),
    WAIT(D, "makes a __READ__ node: index 3 is behind the writer's 2; watches C's node",
         "建立 __READ__ 节点：序号 3，排在写者的 2 后面；监视 C 的节点"),
    FINISH(A, "leaves: nobody watches its node", "离开：没有人监视它的节点"),
    FINISH(B, "leaves, the last reader", "最后一个读者离开"),
    HEAR(C, ASK, "is woken, alone: index 0", "只有它被唤醒：序号 0"),
    FINISH(C, "writes, alone, and leaves", "独自写，然后离开"),
    HEAR(D, ASK, "is woken: no writer is before it", "被唤醒：前面没有写者了"),
    FINISH(D, "reads, and leaves", "读完离开"),
};

static const struct stage_move node_both[] = {
    UNTIL(A, "GET",
          "writes: its __WRIT__ node is the first; then makes a __READ__ node of the same number: "
          "the writer before it is itself",
          "写：它的 __WRIT__ 节点排第一；再建一个同号的 __READ__ 节点：前面的写者就是它自己"),
    UNTIL(A, "GET", "gives the write lock back, and reads on", "归还写锁，继续读"),
    WAIT(B, "wants to write: index 1, behind A's __READ__ node; watches it",
         "想写：序号 1，排在 A 的 __READ__ 节点后面；监视它"),
    FINISH(A, "leaves", "离开"),
    HEAR(B, ASK, "is woken: index 0", "被唤醒：序号 0"),
    FINISH(B, "writes, and leaves", "写完离开"),
};

static const struct stage_move node_writers[] = {
    UNTIL(A, "GET", "makes a __WRIT__ node: index 0, it writes", "建立 __WRIT__ 节点：序号 0，写"),
    WAIT(B, "makes another one: index 1; watches A's node", "再建一个：序号 1；监视 A 的节点"),
    FINISH(A, "leaves", "离开"),
    HEAR(B, ASK, "is woken: index 0", "被唤醒：序号 0"),
    FINISH(B, "writes, and leaves", "写完离开"),
};

#define USES(way)                                                                                  \
    {                                                                                              \
        .body = use_in_its_way, .keys = {(way) }                                                   \
    }

#define ALL_FOUR(what)                                                                             \
    {                                                                                              \
        {.body = (what)}, {.body = (what)}, {.body = (what)},                                      \
        {                                                                                          \
            .body = (what)                                                                         \
        }                                                                                          \
    }

const struct lab_scenario scenarios_ensembles[] = {
    {LESSON("30a", "session-expired", "The session expires, and its owner writes on",
            "会话过期，持有者继续写",
            "In ZooKeeper a lock is a node that lives as long as its client's session, and the "
            "session as long as the servers hear of the client in time.\nWho stands still for "
            "longer has lost the lock, and does not know. The write goes to another system, which "
            "does not know either.",
            "在 ZooKeeper "
            "里，锁是一个节点，和客户端的会话同生共死；而会话只在服务器按时收到客户端消息时才存在。"
            "\n停顿得更久的客户端已经丢了锁，自己却不知道。写入去往另一个系统，它也不知道。"),
     .expected = {{LAB_OVERSOLD, 4}}, .leads_to = "session-fenced", .beside = TAP_ZOOKEEPER,
     .cast = {{.guard = &scenario_guard_zookeeper_unchecked},
              {.guard = &scenario_guard_zookeeper_unchecked}},
     MOVES(session_expired)},
    {LESSON("30b", "session-fenced", "The node's number as a fencing token", "用节点编号作防护令牌",
            "Every node has the number of the transaction that made it (czxid), and these only "
            "grow: a fencing token for nothing.\nThe resource remembers the greatest it has seen, "
            "and refuses any lower one, whoever believes what of a session.",
            "每个节点都有建立它的那个事务的编号（czxid），而且只会增大：现成的防护令牌。\n资源记住"
            "见过的最大编号，拒绝任何更小的，不管谁以为会话还在。"),
     .leads_to = "herd", .beside = TAP_ZOOKEEPER,
     .cast = {{.guard = &guard_zookeeper}, {.guard = &guard_zookeeper}}, .units = 2,
     MOVES(session_fenced)},
    {LESSON("31a", "herd", "All watch the same node", "所有人监视同一个节点",
            "All who wait watch the same node.\nIts end wakes all of them. All ask who is first, "
            "one is, and the others watch again: with a thousand waiters a thousand questions for "
            "each release, of which one was needed. Nothing breaks but the servers.",
            "所有等待者都监视同一个节点。\n它的消失会唤醒所有人。大家都来问谁排第一，只有一个是，其"
            "余的再去监视：一千个等待者，每次释放就有一千次询问，真正需要的只有一次。什么都没坏，除"
            "了服务器。"),
     .expected = {{LAB_HERD, 7}}, .leads_to = "one-by-one", .beside = TAP_ZOOKEEPER,
     .cast = ALL_FOUR(herd_wait), .wakes_one = true, MOVES(herd)},
    {LESSON("31b", "one-by-one", "Each watches the one before", "每个人监视前一个",
            "Everybody watches the node right before its own, and nothing else.\nA release wakes "
            "the next one, and if somebody in the middle goes, only who is behind it looks again. "
            "That is how Curator's locks do it, and lockkit's: this is its mutex.",
            "每个人只监视紧挨在自己前面的节点。\n一次释放只唤醒下一个；如果中间有人离开，也只有它后"
            "面那个再看一眼。Curator 的锁这样做，lockkit 也一样：这里用的就是它的 mutex。"),
     .leads_to = "pay-after-look", .beside = TAP_ZOOKEEPER, .cast = ALL_FOUR(wait_for_next),
     .wakes_one = true, MOVES(one_by_one)},
    {LESSON("31c", "node-readers", "Readers and writers in one queue of nodes",
            "读者和写者排在同一个节点队列里",
            "Curator's read/write lock is the queue again, with __READ__ or __WRIT__ in the nodes' "
            "names.\nA writer gets in as the first of all; a reader as soon as no writer is before "
            "it. So readers go together, and none overtakes a writer who waits: nobody starves.",
            "Curator 的读写锁还是那个队列，节点名里带 __READ__ 或 "
            "__WRIT__。\n写者要排在最前面才能进；读者"
            "只要前面没有写者就能进。于是读者同行，但谁也不会越过等待的写者：没有人饿死。"),
     .leads_to = "node-both", .beside = TAP_ZOOKEEPER,
     .cast = {USES("read"), USES("read"), USES("write"), USES("read")}, .wakes_one = true,
     MOVES(node_readers)},
    {LESSON(
         "31d", "node-both", "Read lock within the write lock", "写锁之内再拿读锁",
         "The same client may take the read lock within the write lock, give the write lock "
         "back, and read on: nobody writes in between.\nThe other way round it would wait for "
         "its own __READ__ node before its __WRIT__ node, for ever; lockkit answers deadlock.",
         "同一个客户端持有写锁时可以再拿读锁，然后归还写锁，接着读：中间不会有人写。\n反过来，它的 "
         "__WRIT__ 节点会永远等自己前面的 __READ__ 节点；lockkit 直接返回死锁。"),
     .leads_to = "node-writers", .beside = TAP_ZOOKEEPER, .cast = {USES("both"), USES("write")},
     .wakes_one = true, MOVES(node_both)},
    {LESSON("31e", "node-writers", "Two writers", "两个写者",
            "The fourth pair: a writer waits for the writer before it, and watches that node "
            "alone.\nAmong writers the lock is the mutex of 31b: the first node has it, and each "
            "release wakes one.",
            "第四种组合：写者等前一个写者，只监视那个节点。\n只有写者时，它就是 31b "
            "的互斥锁：第一个节点"
            "持有，每次释放唤醒一个。"),
     .leads_to = "pay-after-look", .beside = TAP_ZOOKEEPER, .cast = {USES("write"), USES("write")},
     .wakes_one = true, MOVES(node_writers)},
    {.name = NULL},
};
