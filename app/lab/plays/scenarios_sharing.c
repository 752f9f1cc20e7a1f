/*
 * Scenarios 20 and 22: locks for more than one.
 */
#include "lab/stage/stage.h"
#include "scenarios.h"

#define PERMITS STAGE_KEY("permits")
#define LATCH   STAGE_KEY("latch")
#define STOCK   STAGE_KEY("stock")

/* ---- 20: readers and a writer ---------------------------------------------------------------------- */

/* For as long as it takes to get in; then out again. */
static void pass(lk_lock *side)
{
    const struct lk_lock_options options = {.wait_ms = STAGE_LONG_MS, .lease_ms = STAGE_LONG_MS};

    if (lk_lock_acquire(side, &options, NULL) == LK_OK) (void)lk_lock_release(side, NULL);
}

static void read_once(struct stage_actor *self)
{
    lk_rwlock *lock = lk_rwlock_new(stage_client(self), LAMP, NULL);

    if (lock) pass(lk_rwlock_read(lock));
    lk_rwlock_free(lock);
}

static void write_once(struct stage_actor *self)
{
    lk_rwlock *lock = lk_rwlock_new(stage_client(self), LAMP, NULL);

    if (lock) pass(lk_rwlock_write(lock));
    lk_rwlock_free(lock);
}

static const struct stage_move readers_writer[] = {
    UNTIL(A, "EVALSHA rw_read_release", "reads", "读"),
    UNTIL(B, "EVALSHA rw_read_release", "reads, too: both are inside", "也读：两个都在里面"),
    WAIT(C, "wants to write: there are readers, it waits", "想写：里面有读者，等待"),
    FINISH(A, "leaves; B is still inside, so nobody is told", "离开；B 还在里面，所以不通知任何人"),
    FINISH(B, "leaves, the last one: C is told", "最后一个离开：通知 C"),
    WAKE(C, "EVALSHA rw_write_acquire", "is woken", "被唤醒"),
    UNTIL(C, "EVALSHA rw_write_release", "writes, alone", "独自写"),
    WAIT(D, "wants to read: there is a writer, it waits", "想读：里面有写者，等待"),
    FINISH(C, "leaves: all who wait are told", "离开：通知所有等待者"),
    WAKE(D, "EVALSHA rw_read_acquire", "is woken", "被唤醒"),
    FINISH(D, "reads, and leaves", "读完离开"),
};

static const struct stage_move two_writers[] = {
    UNTIL(A, "EVALSHA rw_write_release", "writes, alone", "独自写"),
    WAIT(B, "wants to write, too: it waits", "也想写：等待"),
    FINISH(A, "leaves: all who wait are told", "离开：通知所有等待者"),
    WAKE(B, "EVALSHA rw_write_acquire", "is woken", "被唤醒"),
    FINISH(B, "writes, and leaves", "写完离开"),
};

/* ---- 22: counting ---------------------------------------------------------------------------------- */

static void pass_by_permit(lk_semaphore *semaphore)
{
    if (lk_semaphore_acquire(semaphore, 1, STAGE_LONG_MS, NULL) == LK_OK)
        (void)lk_semaphore_release(semaphore, 1, NULL);
    lk_semaphore_free(semaphore);
}

static void set_permits_and_pass(struct stage_actor *self)
{
    lk_semaphore *semaphore = lk_semaphore_new(stage_client(self), PERMITS, NULL);

    if (lk_semaphore_try_set(semaphore, 2, NULL) == LK_OK) pass_by_permit(semaphore);
}

static void use_permit(struct stage_actor *self)
{
    pass_by_permit(lk_semaphore_new(stage_client(self), PERMITS, NULL));
}

static const struct stage_move semaphore[] = {
    UNTIL(A, "EVALSHA semaphore_release", "sets two permits, and takes one",
          "设两个许可，拿走一个"),
    UNTIL(B, "EVALSHA semaphore_release", "takes the other: two are inside",
          "拿走另一个：里面有两个"),
    WAIT(C, "finds none left, and waits", "没有剩下的了，等待"),
    FINISH(A, "gives its permit back: the message says how many are free",
           "归还许可：消息里是空闲的个数"),
    WAKE(C, "EVALSHA semaphore_acquire", "is woken", "被唤醒"),
    UNTIL(C, "EVALSHA semaphore_release", "takes it: B and C are inside",
          "拿到许可：里面是 B 和 C"),
    FINISH(B, "gives its permit back", "归还许可"),
    FINISH(C, "gives its permit back", "归还许可"),
};

/* Whether it counted is seen by who waits. */
static void arrive_at(lk_latch *latch)
{
    lk_status status = lk_latch_count_down(latch, NULL);

    (void)status;
    lk_latch_free(latch);
}

static void set_latch_and_arrive(struct stage_actor *self)
{
    lk_latch *latch = lk_latch_new(stage_client(self), LATCH, NULL);

    if (lk_latch_try_set(latch, 2, NULL) == LK_OK) arrive_at(latch);
}

static void arrive(struct stage_actor *self)
{
    arrive_at(lk_latch_new(stage_client(self), LATCH, NULL));
}

/* Behind the latch, it looks at the stock. */
static void go_through(struct stage_actor *self)
{
    lk_latch *latch = lk_latch_new(stage_client(self), LATCH, NULL);

    if (lk_latch_await(latch, STAGE_LONG_MS, NULL) == LK_OK) herd_work(self);
    lk_latch_free(latch);
}

static const struct stage_move latch[] = {
    UNTIL(A, "EVALSHA latch_count_down", "sets the latch: two must arrive",
          "设置闭锁：要等两个到达"),
    WAIT(C, "finds it closed, and waits", "闭锁未开，等待"),
    FINISH(A, "arrives: one is missing", "到达：还差一个"),
    FINISH(B, "arrives, the last one: the latch is gone, all who wait are told",
           "最后一个到达：闭锁打开，通知所有等待者"),
    WAKE(C, "GET " LATCH, "is woken", "被唤醒"),
    UNTIL(C, "GET " STOCK, "finds it open", "看到闭锁已开"),
    FINISH(C, "goes through", "通过"),
    FINISH(D, "comes later, and need not wait", "后来才到，不用等"),
};

const struct lab_scenario scenarios_readers[] = {
    {LESSON(
         "20a", "readers-writer", "Readers and a writer", "读者与写者",
         "Those who only read do not disturb each other, so a read/write lock lets any number of "
         "them in, or one writer.\nThe last reader wakes a writer; a writer wakes all. Nobody is "
         "preferred here: readers that overlap without end keep a writer out for ever.",
         "只读的人互不打扰，所以读写锁要么放进任意多个读者，要么放进一个写者。\n最后一个读者唤醒写"
         "者；写者唤醒所有人。这里谁也不优先：读者前后相接、没完没了，写者就永远进不去。"),
     .leads_to = "two-writers",
     .cast = {{.body = read_once}, {.body = read_once}, {.body = write_once}, {.body = read_once}},
     MOVES(readers_writer)},
    {LESSON("20b", "two-writers", "Two writers", "两个写者",
            "The fourth of the four pairs: a writer waits for a writer.\nOf reader and reader, "
            "reader and writer, writer and reader, writer and writer, the first alone go together. "
            "So a read lock shuts out somebody: every writer.",
            "四种组合里的最后一种：写者等写者。\n读与读、读与写、写与读、写与写，只有第一种可以同行"
            "。所以读锁并非谁也不挡：它挡住每一个写者。"),
     .leads_to = "opposite-order", .cast = {{.body = write_once}, {.body = write_once}},
     MOVES(two_writers)},
    {.name = NULL},
};

const struct lab_scenario scenarios_counting[] = {
    {LESSON(
         "22a", "semaphore", "A semaphore of two permits", "两个许可的信号量",
         "A semaphore is a number of permits: as many may be inside.\nTaking and counting is one "
         "script, or two would take the last permit. The number knows no owners: a permit that a "
         "crashed process had is gone, unless permits have leases of their own (lk_permits).",
         "信号量就是许可的个数：里面最多这么多。\n拿走和计数在同一个脚本里，否则两个人会拿走同一个"
         "最后的许可。个数不认主人：进程崩溃，它的许可就没了，除非许可各有租约（lk_permits）。"),
     .leads_to = "latch",
     .cast = {{.body = set_permits_and_pass}, {.body = use_permit}, {.body = use_permit}},
     .locks = {PERMITS}, MOVES(semaphore)},
    {LESSON("22b", "latch", "A latch for two arrivals", "等两个到达的闭锁",
            "A latch counts down, and lets all through at once when it is at 0: a sale that opens "
            "when every warehouse has reported.\nIt protects nothing and belongs to nobody; "
            "whoever comes later finds it open.",
            "闭锁（CountDownLatch）往下数，数到 0 "
            "时一下放行所有人：比如各仓库都报到之后才开卖。\n它不保护什么，也不属于谁；后来的人看到"
            "的是开着的门。"),
     .leads_to = "woken-by-message",
     .cast = {{.body = set_latch_and_arrive},
              {.body = arrive},
              {.body = go_through},
              {.body = go_through}},
     .locks = {LATCH}, MOVES(latch)},
    {.name = NULL},
};
